import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import ReactorCore

@Suite(.timeLimit(.minutes(1)))
struct URLSessionRedirectTests {
  @Test(
    arguments: [
      ("/y", "/y"), ("y", "/a/y"), ("../y", "/y"), ("?q=1", "/a/b?q=1"), ("/a%2Fb?x=%2B", "/a%2Fb?x=%2B"),
      ("/%C3%A9#part", "/%C3%A9"), ("./y?z#w", "/a/y?z"),
    ])
  func `a Location is resolved against the request`(location: String, target: String) async throws {
    try await LoopbackServer.run {
      $0.target == "/a/b" ? .redirect(to: location) : .text("there")
    } body: { server in
      let (response, body) = try await URLSessionTransport().send(server.request("/a/b"))
      #expect(response.status == .ok)
      #expect(body == Data("there".utf8))
      #expect(server.received.map(\.target) == ["/a/b", target])
    }
  }

  @Test(
    arguments: ["", "mailto:a@example.com", "ftp://example.com/x", "file:///etc/passwd", "http://[bad", "http:///x"])
  func `a Location that cannot be followed makes the redirect the answer`(location: String) async throws {
    try await LoopbackServer.run { _ in
      .redirect(to: location)
    } body: { server in
      let (response, _) = try await URLSessionTransport().send(server.request())
      #expect(response.status == .found)
      #expect(server.received.count == 1)
    }
  }

  @Test func `a redirect without Location is the answer`() async throws {
    try await LoopbackServer.run { _ in
      .status(301, body: Data("moved".utf8))
    } body: { server async throws in
      #expect(try await URLSessionTransport().send(server.request()).0.status == .movedPermanently)
    }
  }

  @Test(
    arguments: [
      (301, "GET", "GET"), (302, "GET", "GET"), (303, "GET", "GET"), (307, "GET", "GET"), (308, "GET", "GET"),
      (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"),
      (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"), (302, "HEAD", "HEAD"),
    ])
  func `the method and the body follow as in a browser`(code: Int, before: String, after: String) async throws {
    let method = try #require(HTTPRequest.Method(before))
    let body = before == "GET" || before == "HEAD" ? nil : Data("{}".utf8)
    let reply: @Sendable (LoopbackServer.Received) -> LoopbackServer.Reply = { request in
      guard request.target == "/" else { return request.method == "HEAD" ? .head(announcing: 0) : .text("there") }
      return .status(code, fields: [("Location", "/there")])
    }
    try await LoopbackServer.run(reply) { server in
      _ = try await URLSessionTransport().send(
        server.request(method: method, fields: [.contentType: "application/json", .accept: "text/html"]), body: body)
      let second = try #require(server.received.last)
      #expect(server.received.count == 2)
      #expect(second.method == after)
      #expect(second.body == (before == after ? body ?? Data() : Data()))
      #expect(second["Content-Type"] == (before == after ? "application/json" : nil))
      #expect(second["Accept"] == "text/html")
    }
  }

  @Test func `credentials stay with the origin`() async throws {
    let custom = try #require(HTTPField.Name("X-Custom"))
    let fields: HTTPFields = [
      .authorization: "Bearer t", .cookie: "a=1", .proxyAuthorization: "Basic x", custom: "kept",
    ]
    try await LoopbackServer.run { _ in
      .text("other")
    } body: { other in
      let url = other.url
      try await LoopbackServer.run { request in
        switch request.target {
        case "/out": .redirect(to: "\(url)/other")
        case "/in": .redirect(to: "/here")
        default: .text("here")
        }
      } body: { server in
        let transport = URLSessionTransport()
        #expect(try await transport.send(server.request("/out", fields: fields)).1 == Data("other".utf8))
        let there = try #require(other.received.first)
        #expect([there["Authorization"], there["Cookie"], there["Proxy-Authorization"]] == [nil, nil, nil])
        #expect(there["X-Custom"] == "kept")
        _ = try await transport.send(server.request("/in", fields: fields))
        let here = try #require(server.received.last)
        #expect(here["Authorization"] == "Bearer t")
        #expect(here["Cookie"] == "a=1")
      }
    }
  }

  @Test func `credentials that left do not come back`() async throws {
    let home = Latch()
    try await LoopbackServer.run {
      .redirect(to: "http://\($0["X-Home"] ?? "")/back")
    } body: { other in
      let url = other.url
      try await LoopbackServer.run { request in
        guard request.target == "/back" else { return .redirect(to: "\(url)/") }
        home.open()
        return .text("back")
      } body: { server in
        let custom = try #require(HTTPField.Name("X-Home"))
        let request = server.request(fields: [.authorization: "Bearer t", custom: server.authority])
        #expect(try await URLSessionTransport().send(request).1 == Data("back".utf8))
        #expect(home.isOpen)
        #expect(server.received.map { $0["Authorization"] } == ["Bearer t", nil])
      }
    }
  }

  @Test(
    arguments: [
      ("https://a.example/", "http://a.example/", false), ("http://a.example/", "http://A.example:80/x", true),
      ("https://a.example:443/", "https://a.example/", true), ("https://a.example/", "https://a.example:8443/", false),
      ("https://a.example/", "https://b.a.example/", false), ("https://a.example/", "//a.example/x", true),
      ("https://a.example/", "https://user:pw@a.example/", true), ("http://[::1]:80/", "http://[::1]/", true),
    ])
  func `an origin is scheme, host and port`(from: String, location: String, isSame: Bool) throws {
    let url = try #require(URL(string: from))
    let request = HTTPRequest(method: .get, url: url, headerFields: [.authorization: "t"])
    var response = HTTPResponse(status: .found)
    response.headerFields[.location] = location
    let next = try #require(URLSessionRedirect(request: request, body: nil).next(after: response))
    #expect((next.request.headerFields[.authorization] != nil) == isSame)
    #expect(next.request.authority?.contains("@") == false)
  }

  @Test(arguments: [1, 5, 20])
  func `a loop ends at the limit`(limit: Int) async throws {
    try await LoopbackServer.run { _ in
      .redirect(to: "/again")
    } body: { server in
      await #expect(throws: TransportError.tooManyRedirects(limit: limit)) {
        try await URLSessionTransport(maximumRedirects: limit).send(server.request())
      }
      #expect(server.received.count == limit + 1)
    }
  }

  @Test func `as many redirects as the limit are followed, and with none the redirect is the answer`() async throws {
    try await LoopbackServer.run { request in
      request.target == "/aaa" ? .text("there") : .redirect(to: request.target + "a")
    } body: { server in
      #expect(try await URLSessionTransport(maximumRedirects: 3).send(server.request()).1 == Data("there".utf8))
      let (response, body) = try await URLSessionTransport(maximumRedirects: 0).send(server.request())
      #expect(response.status == .found)
      #expect(body == Data("moved".utf8))
    }
  }
}
