#if AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import ReactorAsyncHTTPClient
  import ReactorCore
  import TestSupport
  import Testing

  @Suite(.timeLimit(.minutes(1)))
  struct `AsyncHTTPClient requests` {
    @Test(
      arguments: [
        "/", "/a%2Fb?x=%2B", "/a%2fb", "/%E2%82%AC/%C3%A9", "/a+b;c=1,2:3@4!$&'()*~", "/?", "/?a=1&a=2&b=&c", "/a//b/",
        "/documents:batchGet?q=a/b?c", "/a%00b", "/%25", "/a?x=%5B1%5D", "/.well-known/x", "/a/../b", "//a",
        "/" + String(repeating: "a", count: 8_000),
      ])
    func `the target goes over the wire byte for byte`(target: String) async throws {
      try await LoopbackServer.run { _ in
        .text("x")
      } body: { server in
        _ = try await AsyncHTTPClientTransport().send(server.request(target))
        #expect(server.received.map(\.target) == [target])
      }
    }

    @Test(
      arguments: [
        HTTPRequest.Method.get, .post, .put, .patch, .delete, .options, HTTPRequest.Method("QUERY") ?? .get,
        HTTPRequest.Method("PROPFIND") ?? .get, HTTPRequest.Method("MIXed-case") ?? .get,
      ])
    func `any method goes out with its body`(method: HTTPRequest.Method) async throws {
      let large = Data(repeating: 65, count: 2_500_000)
      try await LoopbackServer.run { _ in
        .text("x")
      } body: { server in
        let transport = AsyncHTTPClientTransport()
        for body in [Data("{}".utf8), large, nil] {
          _ = try await transport.send(
            server.request(method: method, fields: [.contentType: "application/json"]), body: body)
        }
        #expect(server.received.map(\.method) == Array(repeating: method.rawValue, count: 3))
        #expect(server.received.map(\.body) == [Data("{}".utf8), large, Data()])
        #expect(server.received.allSatisfy { $0["Content-Type"] == "application/json" })
      }
    }

    @Test func `all fields of the request are sent, with their duplicates`() async throws {
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
        _ = try await AsyncHTTPClientTransport().send(server.request(fields: sent))
        let received = try #require(server.received.first)
        let lines = received.fields.map { "\($0.name): \($0.value)" }
        #expect(
          lines.filter { $0.hasPrefix("Cache-Control") } == ["Cache-Control: no-cache", "Cache-Control: no-store"])
        for field in sent { #expect(lines.contains("\(field.name.rawName): \(field.value)")) }
        #expect(received["Host"] == server.authority)
      }
    }

    @Test(
      arguments: [
        HTTPRequest(method: .get, scheme: "ftp", authority: "127.0.0.1", path: "/"),
        HTTPRequest(method: .get, scheme: "file", authority: "", path: "/etc/passwd"),
        HTTPRequest(method: .get, scheme: "http+unix", authority: "%2Ftmp%2Fsocket", path: "/"),
        HTTPRequest(method: .get, scheme: nil, authority: "127.0.0.1", path: "/"),
        HTTPRequest(method: .get, scheme: "http", authority: nil, path: "/"),
        HTTPRequest(method: .get, scheme: "http", authority: "", path: "/"),
        HTTPRequest(method: .get, scheme: "http", authority: ":80", path: "/"),
        HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:99999999", path: "/"),
        HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:65536", path: "/"),
        HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1", path: nil),
        HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1", path: ".evil.example/"),
        HTTPRequest(method: .trace, scheme: "http", authority: "127.0.0.1", path: "/"),
      ])
    func `what cannot be sent is an invalid resource`(request: HTTPRequest) async throws {
      await #expect {
        try await AsyncHTTPClientTransport().send(request, body: request.method == .trace ? Data("x".utf8) : nil)
      } throws: { error in
        guard case ReactorError.invalidResource = error else { return false }
        return true
      }
    }
  }
#endif
