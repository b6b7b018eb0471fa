import Foundation
import HTTPTypes
import Testing

@testable import ReactorCore

@Suite struct `Redirects as values` {
  @Test(
    arguments: [
      ("https://a.example/", "http://a.example/", false), ("http://a.example/", "http://A.example:80/x", true),
      ("https://a.example:443/", "https://a.example/", true), ("https://a.example/", "https://a.example:8443/", false),
      ("https://a.example/", "https://b.a.example/", false), ("https://a.example/", "//a.example/x", true),
      ("https://a.example/", "https://user:pw@a.example/", true), ("http://[::1]:80/", "http://[::1]/", true),
    ])
  func `credentials continue to the same scheme, host and port`(from: String, location: String, isSame: Bool) throws {
    let url = try #require(URL(string: from))
    let request = HTTPRequest(method: .get, url: url, headerFields: [.authorization: "t"])
    var response = HTTPResponse(status: .found)
    response.headerFields[.location] = location
    let next = try #require(Redirect(request: request, body: nil).next(after: response))
    #expect((next.request.headerFields[.authorization] != nil) == isSame)
    #expect(next.request.authority?.contains("@") == false)
  }

  @Test(arguments: [HTTPRequest.Method.post, .put, .patch, .delete], [301, 302, 303, 307, 308])
  func `a write stays with its origin, and a read continues`(method: HTTPRequest.Method, status: Int) throws {
    let url = try #require(URL(string: "https://a.example/"))
    let request = HTTPRequest(method: method, url: url)
    func next(_ location: String) -> Redirect? {
      let response = HTTPResponse(status: .init(code: status), headerFields: [.location: location])
      return Redirect(request: request, body: Data("secret".utf8)).next(after: response)
    }
    let outside = next("https://b.example/")
    let becomesGet = status == 303 || method == .post && status < 303
    #expect(outside?.request.method == (becomesGet ? .get : nil))
    #expect(outside?.body == nil)
    let inside = next("/x")
    #expect(inside?.request.method == (becomesGet ? .get : method))
    #expect(inside?.body == (becomesGet ? nil : Data("secret".utf8)))
  }

  @Test(
    arguments: [
      (HTTPRequest.Method.get, 302, HTTPField.Name.ifNoneMatch, "\"1\"", false), (.get, 301, .ifNoneMatch, "*", false),
      (.get, 302, .ifModifiedSince, "x", false), (.head, 302, .ifMatch, "\"1\"", false),
      (.get, 307, .ifUnmodifiedSince, "x", false), (.get, 307, .ifRange, "\"1\"", false),
      (.get, 307, .range, "x", true),
      (.put, 307, .ifMatch, "\"1\"", true), (.put, 308, .ifUnmodifiedSince, "x", true),
      (.put, 307, .ifNoneMatch, "*", true), (.put, 307, .ifNoneMatch, "\"1\"", true),
      (.delete, 308, .ifNoneMatch, "\"1\"", true), (.post, 307, .ifMatch, "\"1\"", true),
      (.put, 303, .ifMatch, "\"1\"", false), (.post, 302, .ifNoneMatch, "*", false),
      (.post, 307, .ifNoneMatch, "\"1\"", false), (.post, 307, .ifModifiedSince, "x", false),
    ] as [(HTTPRequest.Method, Int, HTTPField.Name, String, Bool)])
  func `conditions end at a redirect, but for what guards a change`(
    method: HTTPRequest.Method, status: Int, name: HTTPField.Name, value: String, isSentOn: Bool
  ) throws {
    let url = try #require(URL(string: "https://a.example/"))
    let request = HTTPRequest(method: method, url: url, headerFields: [name: value])
    let response = HTTPResponse(status: .init(code: status), headerFields: [.location: "/x"])
    let next = try #require(Redirect(request: request, body: nil).next(after: response))
    #expect(next.request.headerFields.contains(name) == isSentOn)
  }

  @Test(arguments: [.ifRange, .ifMatch, .ifNoneMatch, .ifUnmodifiedSince, .ifModifiedSince] as [HTTPField.Name])
  func `a part that was requested on a condition becomes the whole`(condition: HTTPField.Name) throws {
    let url = try #require(URL(string: "https://a.example/"))
    let request = HTTPRequest(method: .get, url: url, headerFields: [.range: "bytes=5-", condition: "\"1\""])
    let response = HTTPResponse(status: .found, headerFields: [.location: "/x"])
    let next = try #require(Redirect(request: request, body: nil).next(after: response))
    #expect(next.request.headerFields.isEmpty)
  }
}

/// Answers `/` with 302 and then 307, and all else with 200.
private struct Redirecting: Transport {
  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try await Redirect.following(request, body: body, limit: 5) { request, _ in
      switch request.path {
      case "/": (HTTPResponse(status: .found, headerFields: [.location: "/b"]), Data())
      case "/b": (HTTPResponse(status: .temporaryRedirect, headerFields: [.location: "/c"]), Data())
      case "/loop": (HTTPResponse(status: .found, headerFields: [.location: "/loop"]), Data())
      default: (HTTPResponse(status: .ok), Data())
      }
    }
  }
}

/// Sends its own requests before and after the given one.
private struct Asking: TransportMiddleware {
  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    var other = request
    other.path = "/"
    _ = try await Redirecting().send(other, body: nil) { _ in }
    let answer = try await next(request, body)
    _ = try await Redirecting().send(other, body: nil) { _ in }
    return answer
  }
}

@Suite struct `The redirects that led to an answer` {
  private func statuses(_ path: String, _ middlewares: [any TransportMiddleware] = []) async throws -> [Int] {
    let url = try #require(URL(string: "https://a.example"))
    let backend = Backend(baseURL: url, transport: Redirecting(), middlewares: middlewares)
    let trail = RedirectTrail()
    _ = try? await backend.send(
      HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: path), body: nil, trail: trail
    ) { _ in }
    return trail.redirects.map(\.status.code)
  }

  @Test func `the redirects that led to an answer are reported in order`() async throws {
    #expect(try await statuses("/") == [302, 307])
    #expect(try await statuses("/c") == [])
    #expect(try await statuses("/loop") == Array(repeating: 302, count: 6))
  }

  @Test func `the trail has only the request's own redirects, whatever its middlewares send`() async throws {
    #expect(try await statuses("/c", [Asking()]) == [])
    #expect(try await statuses("/b", [Asking()]) == [307])
  }

  @Test func `the redirects that led to an answer are those of each time that it was sent`() async throws {
    struct Twice: TransportMiddleware {
      func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
        _ = try await next(request, body)
        var other = request
        other.path = "/c"
        return try await next(other, body)
      }
    }
    #expect(try await statuses("/", [Twice()]) == [302, 307])
  }
}
