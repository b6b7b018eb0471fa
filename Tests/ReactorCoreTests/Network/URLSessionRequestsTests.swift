import Foundation
import HTTPTypes
import ReactorCore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct URLSessionRequestsTests {
  @Test(
    arguments: [
      "/", "/a%2Fb?x=%2B", "/a%2fb", "/%E2%82%AC/%C3%A9", "/a+b;c=1,2:3@4!$&'()*~", "/?", "/?a=1&a=2&b=&c", "/a//b/",
      "/documents:batchGet?q=a/b?c", "/a%00b", "/%25", "/a?x=%5B1%5D", "/.well-known/x",
      "/" + String(repeating: "a", count: 8_000),
    ])
  func `the target goes over the wire byte for byte`(target: String) async throws {
    try await LoopbackServer.run { _ in
      .text("x")
    } body: { server in
      _ = try await URLSessionTransport().send(server.request(target))
      #expect(server.received.map(\.target) == [target])
    }
  }

  @Test(
    arguments: [
      HTTPRequest.Method.post, .put, .patch, .delete, .options, HTTPRequest.Method("QUERY") ?? .get,
      HTTPRequest.Method("PROPFIND") ?? .get, HTTPRequest.Method("MIXed-case") ?? .get,
    ])
  func `any method goes out with its body`(method: HTTPRequest.Method) async throws {
    let large = Data(repeating: 65, count: 2_500_000)
    try await LoopbackServer.run { _ in
      .text("x")
    } body: { server in
      let transport = URLSessionTransport()
      for body in [Data("{}".utf8), large, nil] {
        _ = try await transport.send(
          server.request(method: method, fields: [.contentType: "application/json"]), body: body)
      }
      #expect(server.received.map(\.method) == Array(repeating: method.rawValue, count: 3))
      #expect(server.received.map(\.body) == [Data("{}".utf8), large, Data()])
      #expect(server.received.allSatisfy { $0["Content-Type"] == "application/json" })
    }
  }

  @Test func `all fields of the request are sent`() async throws {
    let custom = try #require(HTTPField.Name("X-Custom"))
    var fields: HTTPFields = [
      .authorization: "Bearer t", .accept: "application/json", .ifNoneMatch: "\"1\"", .cookie: "a=1",
      .acceptLanguage: "de", .userAgent: "tests", custom: "Ænima",
    ]
    fields.append(HTTPField(name: .cacheControl, value: "no-cache"))
    fields.append(HTTPField(name: .cacheControl, value: "no-store"))
    let sent = fields
    try await LoopbackServer.run { _ in
      .text("x")
    } body: { server in
      _ = try await URLSessionTransport().send(server.request(fields: sent))
      let received = try #require(server.received.first)
      for field in sent where field.name != .cacheControl { #expect(received[field.name.rawName] == field.value) }
      #expect(received["Cache-Control"] == "no-cache, no-store")
      #expect(received["Host"] == server.authority)
    }
  }

  @Test func `progress counts what was sent`() async throws {
    let sent = Latch()
    try await LoopbackServer.run { _ in
      .text("x")
    } body: { server in
      _ = try await URLSessionTransport().send(
        server.request(method: .post), body: Data(repeating: 1, count: 500_000)
      ) { progress in
        if progress.sent == 500_000 { sent.open() }
      }
      #expect(sent.isOpen)
    }
  }

  @Test(
    arguments: [
      HTTPRequest(method: .get, scheme: "ftp", authority: "127.0.0.1", path: "/"),
      HTTPRequest(method: .get, scheme: "file", authority: "", path: "/etc/passwd"),
      HTTPRequest(method: .get, scheme: nil, authority: "127.0.0.1", path: "/"),
      HTTPRequest(method: .get, scheme: "http", authority: nil, path: "/"),
      HTTPRequest(method: .get, scheme: "http", authority: "", path: "/"),
      HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:99999999", path: "/"),
      HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1", path: nil),
    ])
  func `what cannot be sent is an invalid resource`(request: HTTPRequest) async throws {
    await #expect { try await URLSessionTransport().send(request) } throws: { error in
      guard case ReactorError.invalidResource = error else { return false }
      return true
    }
  }

  @Test func `a body with GET is an invalid resource`() async throws {
    try await LoopbackServer.run { _ in
      .text("x")
    } body: { server in
      await #expect {
        try await URLSessionTransport().send(server.request(), body: Data("x".utf8))
      } throws: { error in
        guard case ReactorError.invalidResource = error else { return false }
        return true
      }
      _ = try await URLSessionTransport().send(server.request(), body: Data())
      #expect(server.received.count == 1)
    }
  }
}
