import Foundation
import HTTPTypes
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorCore

@Suite struct `A backend's middlewares` {
  private let transport = ScriptedTransport { _, _ in .json("[]") }
  private let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/notes")

  /// Adds its name to the request on the way in, and to the response on the way out.
  private struct Mark: TransportMiddleware {
    let name: String

    func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
      var request = request
      request.headerFields[values: .via] += [name]
      var (response, body) = try await next(request, body)
      response.headerFields[values: .via] += [name]
      return (response, body)
    }
  }

  private struct Handler: TransportMiddleware {
    let handle: @Sendable (HTTPRequest, Data?, Next) async throws -> (HTTPResponse, Data)

    func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
      try await handle(request, body, next)
    }
  }

  private func send(through middlewares: any TransportMiddleware..., body: Data? = nil) async throws -> (
    HTTPResponse, Data
  ) {
    try await Backend(baseURL: Bench.url, transport: transport, middlewares: middlewares).send(request, body: body)
  }

  @Test func `wrap the transport from outside in`() async throws {
    let (response, _) = try await send(through: Mark(name: "outer"), Mark(name: "inner"))
    #expect(transport.requests.first?.request.headerFields[values: .via] == ["outer", "inner"])
    #expect(response.headerFields[values: .via] == ["inner", "outer"])
  }

  @Test func `a backend's middlewares are not needed`() async throws {
    let (response, body) = try await send(body: Data("hello".utf8))
    #expect(response.status == .ok)
    #expect(body == Data("[]".utf8))
    #expect(transport.requests.first?.request == request)
    #expect(transport.requests.first?.body == Data("hello".utf8))
  }

  @Test func `a backend's middlewares may answer by themselves`() async throws {
    let (response, body) = try await send(
      through: Handler { _, _, _ in (HTTPResponse(status: .gone), Data("own".utf8)) }, Mark(name: "inner"))
    #expect(response.status == .gone)
    #expect(body == Data("own".utf8))
    #expect(transport.requestCount == 0)
  }

  @Test func `a backend's middlewares may call the rest twice`() async throws {
    transport.answer("/notes", with: .response(.serviceUnavailable), .json("[1]"))
    let retry = Handler { request, body, next in
      let first = try await next(request, body)
      return first.0.status == .serviceUnavailable ? try await next(request, body) : first
    }
    let (response, body) = try await send(through: retry, Mark(name: "inner"))
    #expect(response.status == .ok)
    #expect(body == Data("[1]".utf8))
    #expect(transport.requests.map { $0.request.headerFields[values: .via] } == [["inner"], ["inner"]])
  }

  @Test func `a backend's middlewares may change the body`() async throws {
    _ = try await send(through: Handler { request, _, next in try await next(request, Data("new".utf8)) })
    #expect(transport.requests.first?.body == Data("new".utf8))
  }

  @Test func `a backend's middlewares pass on what is thrown, as it is`() async throws {
    struct Refused: Error {}
    await #expect(throws: Refused.self) {
      try await send(through: Mark(name: "outer"), Handler { _, _, _ in throw Refused() })
    }
    transport.answer("/notes", with: .failure(URLError(.cannotConnectToHost)))
    await #expect(throws: URLError.self) { try await send(through: Mark(name: "outer")) }
  }

  @Test func `a backend's middlewares let the transport's progress through`() async throws {
    let received = Mutex<[Int64]>([])
    _ = try await Backend(baseURL: Bench.url, transport: transport, middlewares: [Mark(name: "outer")])
      .send(request, body: nil) { progress in received.withLock { $0.append(progress.received) } }
    #expect(received.withLock { $0 }.last == 2)
  }
}

@Suite struct `A backend's request` {
  private let backend = Backend(baseURL: Bench.url, transport: ScriptedTransport())

  private func name(_ name: String) throws -> HTTPField.Name { try #require(HTTPField.Name(name)) }

  @Test func `a backend's request is absolute, with the resource's method and fields`() throws {
    var resource = Resource("notes", method: .put, query: ["page": "2"])
    resource.headers[.acceptLanguage] = "de"
    let request = try backend.request(for: resource)
    #expect(request.method == .put)
    #expect(request.absoluteURL == "https://api.example.com/v1/notes?page=2")
    #expect(request.headerFields[.acceptLanguage] == "de")
  }

  @Test func `a request accepts JSON, unless the resource says something else`() throws {
    #expect(try backend.request(for: "notes").headerFields[values: .accept] == ["application/json"])
    let text = Resource("notes", headers: [.accept: "text/plain"])
    #expect(try backend.request(for: text).headerFields[values: .accept] == ["text/plain"])
  }

  @Test func `a backend's request carries the idempotency key where there is one`() throws {
    var resource = Resource("notes", method: .post)
    #expect(try backend.request(for: resource).headerFields[name("Idempotency-Key")] == nil)
    resource.idempotencyKey = "4711"
    #expect(try backend.request(for: resource).headerFields[name("Idempotency-Key")] == "4711")
    resource.headers[try name("Idempotency-Key")] = "older"
    #expect(try backend.request(for: resource).headerFields[values: name("Idempotency-Key")] == ["4711"])
  }

  @Test(arguments: ["a\nb", "a\r\nX-Injected: 1", "a\0b"])
  func `a backend's request is not made with an idempotency key that no field can hold`(key: String) {
    var resource = Resource("notes", method: .post)
    resource.idempotencyKey = key
    expectInvalid(resource, "idempotency key")
  }

  @Test(arguments: ["Content-Length", "Transfer-Encoding", "Connection", "TE", "Trailer", "Upgrade", "Host", "hOST"])
  func `a backend's request is not made with a field that the transport sets`(field: String) throws {
    var resource: Resource = "notes"
    resource.headers[try name(field)] = "1"
    expectInvalid(resource, field)
  }

  @Test(arguments: [
    "https://evil.example.com/notes", "//evil.example.com", "../admin", "a/../../admin", "%2e%2e/admin",
  ])
  func `a backend's request is not made for a path that is not below the base URL`(path: String) {
    expectInvalid(Resource(path), "base URL")
  }

  private func expectInvalid(_ resource: Resource, _ reason: String) {
    do throws(ReactorError) {
      let request = try backend.request(for: resource)
      Issue.record("made \(request)")
    } catch {
      guard case .invalidResource(let text) = error else {
        Issue.record("threw \(error)")
        return
      }
      #expect(text.contains(reason))
    }
  }
}
