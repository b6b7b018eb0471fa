#if AsyncHTTPClient
  import AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import ReactorAsyncHTTPClient
  import ReactorCore
  import TestSupport
  import Testing

  /// Calls `body` with a client that neither decodes nor follows redirects, and shuts it down.
  func withClient<Value>(_ body: (HTTPClient) async throws -> Value) async throws -> Value {
    let client = HTTPClient(
      eventLoopGroupProvider: .singleton, configuration: HTTPClient.Configuration(redirectConfiguration: .disallow))
    let result: Result<Value, any Error>
    do { result = .success(try await body(client)) } catch { result = .failure(error) }
    try await client.shutdown()
    return try result.get()
  }

  @Suite(.timeLimit(.minutes(1)))
  struct `AsyncHTTPClient redirects` {
    @Test(
      arguments: [
        ("/y", "/y"), ("y", "/a/y"), ("../y", "/y"), ("?q=1", "/a/b?q=1"), ("/a%2Fb?x=%2B", "/a%2Fb?x=%2B"),
        ("/%C3%A9#part", "/%C3%A9"), ("./y?z#w", "/a/y?z"),
      ])
    func `a Location is resolved against the request`(location: String, target: String) async throws {
      try await LoopbackServer.run {
        $0.target == "/a/b" ? .redirect(to: location) : .text("there")
      } body: { server in
        let (response, body) = try await AsyncHTTPClientTransport().send(server.request("/a/b"))
        #expect(response.status == .ok)
        #expect(body == Data("there".utf8))
        #expect(server.received.map(\.target) == ["/a/b", target])
      }
    }

    @Test(arguments: ["mailto:a@example.com", "ftp://example.com/x", "file:///etc/passwd"])
    func `a Location that cannot be followed makes the redirect the answer`(location: String) async throws {
      try await LoopbackServer.run { _ in
        .redirect(to: location)
      } body: { server in
        let (response, _) = try await AsyncHTTPClientTransport().send(server.request())
        #expect(response.status == .found)
        #expect(server.received.count == 1)
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
          let transport = AsyncHTTPClientTransport()
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

    @Test func `a body is sent again where the status says so`() async throws {
      try await LoopbackServer.run { request in
        request.target == "/" ? .redirect(307, to: "/there") : .text("there")
      } body: { server in
        _ = try await AsyncHTTPClientTransport().send(server.request(method: .post), body: Data("{}".utf8))
        #expect(server.received.map(\.method) == ["POST", "POST"])
        #expect(server.received.map(\.body) == [Data("{}".utf8), Data("{}".utf8)])
      }
    }

    @Test func `a loop ends with an error`() async throws {
      try await LoopbackServer.run { _ in
        .redirect(to: "/again")
      } body: { server in
        await #expect(throws: HTTPClientError.redirectCycleDetected) {
          try await AsyncHTTPClientTransport().send(server.request())
        }
        #expect(server.received.count == 2)
      }
    }

    @Test func `with a client that follows none, the redirect is the answer`() async throws {
      try await withClient { client in
        try await LoopbackServer.run { _ in
          .redirect(to: "/there")
        } body: { server in
          let (response, body) = try await AsyncHTTPClientTransport(client: client).send(server.request())
          #expect(response.status == .found)
          #expect(body == Data("moved".utf8))
        }
      }
    }
  }
#endif
