#if AsyncHTTPClient
  import AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import ReactorAsyncHTTPClient
  import ReactorCore
  import ReactorConformance
  import ReactorTesting
  import Testing

  /// Calls `body` with a client that neither decodes nor follows redirects, and shuts it down.
  func withClient<Value>(
    _ configuration: HTTPClient.Configuration = .init(redirectConfiguration: .disallow),
    _ body: (HTTPClient) async throws -> Value
  ) async throws -> Value {
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let result: Result<Value, any Error>
    do { result = .success(try await body(client)) } catch { result = .failure(error) }
    try await client.shutdown()
    return try result.get()
  }

  @Suite(.timeLimit(.minutes(3)))
  struct `AsyncHTTPClient as a transport` {
    @Test func `it keeps the contract of every transport`() async {
      await TransportConformance {
        AsyncHTTPClientTransport(
          timeout: $0.timeout, maximumResponseSize: $0.maximumResponseSize, maximumRedirects: $0.maximumRedirects,
          clock: $0.clock)
      }.run()
    }

    @Test func `an app's own client keeps the contract, except for settings that it lacks`() async throws {
      var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
      // It tries for ten seconds otherwise.
      configuration.connectionPool.retryConnectionEstablishment = false
      // Streams occupy its connections.
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32
      try await withClient(configuration) { client in
        await TransportConformance(except: [.contentCodings]) {
          AsyncHTTPClientTransport(
            client: client, timeout: $0.timeout, maximumResponseSize: $0.maximumResponseSize,
            maximumRedirects: $0.maximumRedirects, clock: $0.clock)
        }.run()
      }
    }

    @Test func `copies share connections, which close with the last copy`() async throws {
      try await MockServer.run { _ in
        .text("x")
      } body: { server in
        var copy: AsyncHTTPClientTransport?
        do {
          let transport = AsyncHTTPClientTransport()
          copy = transport
          for _ in 0..<5 { _ = try await transport.send(server.request()) }
        }
        _ = try await copy?.send(server.request())
        #expect(server.acceptedConnections == 1)
        #expect(server.openConnections == 1)
        copy = nil
        try await server.waitUntilDisconnected()
      }
    }

    @Test func `a transport that goes while it sends takes its answer along`() async throws {
      let (arrived, answered) = (Latch(), Latch())
      try await MockServer.run { _ in
        arrived.open()
        return .held(until: answered)
      } body: { server async throws in
        let request = server.request()
        let task = Task { try await AsyncHTTPClientTransport().send(request) }
        try await arrived.wait()
        answered.open()
        #expect(try await task.value.1 == Data("held".utf8))
        try await server.waitUntilDisconnected()
      }
    }

    @Test func `a transport that has sent nothing goes without a word`() {
      for _ in 0..<10 { _ = AsyncHTTPClientTransport() }
    }

    @Test func `an app's own client stays open`() async throws {
      try await withClient { client in
        try await MockServer.run { _ in
          .text("x")
        } body: { server in
          for _ in 0..<2 { _ = try await AsyncHTTPClientTransport(client: client).send(server.request()) }
          #expect(server.acceptedConnections == 1)
          #expect(server.openConnections == 1)
        }
      }
    }

    @Test func `a compressed body of a client that decodes nothing stays as it is`() async throws {
      let gzipped = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJV8hAJwHjUT2NFwAAAA=="))
      try await withClient { client in
        try await MockServer.run { _ in
          .status(200, fields: [("Content-Encoding", "gzip")], body: gzipped)
        } body: { server in
          let (response, body) = try await AsyncHTTPClientTransport(client: client).send(server.request())
          #expect(body == gzipped)
          #expect(response.headerFields[.contentEncoding] == "gzip")
          #expect(response.headerFields[.contentLength] == "\(gzipped.count)")
          #expect(server.requests.first?["Accept-Encoding"] == nil)
        }
      }
    }

    @Test func `fields keep their order and their duplicates, both ways`() async throws {
      let fields = [
        ("Set-Cookie", "a=1"), ("X-Name", "Ænima"), ("Set-Cookie", "b=2; Path=/, x"), ("Cache-Control", "no-cache"),
        ("cache-control", "private"), ("X-Empty", ""),
      ]
      try await MockServer.run { _ in
        .text("x", fields: fields)
      } body: { server in
        var request = server.request()
        request.headerFields.append(HTTPField(name: .cacheControl, value: "no-cache"))
        request.headerFields.append(HTTPField(name: .cacheControl, value: "no-store"))
        let (response, _) = try await AsyncHTTPClientTransport().send(request)
        let received = response.headerFields.map { "\($0.name.rawName): \($0.value)" }
        #expect(received == ["Content-Length: 1"] + fields.map { "\($0.0): \($0.1)" })
        let sent = server.requests.first?.headers.filter { $0.name == "Cache-Control" }.map(\.value)
        #expect(sent == ["no-cache", "no-store"])
      }
    }

    @Test(arguments: ["/a/../b", "//a"])
    func `a target that others would tidy goes over the wire byte for byte`(target: String) async throws {
      try await MockServer.run { _ in
        .text("x")
      } body: { server in
        _ = try await AsyncHTTPClientTransport().send(server.request(target))
        #expect(server.requests.map(\.target) == [target])
      }
    }

    @Test(
      arguments: [
        HTTPRequest(method: .get, scheme: "http+unix", authority: "%2Ftmp%2Fsocket", path: "/"),
        HTTPRequest(method: .get, scheme: "http", authority: ":80", path: "/"),
        HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:65536", path: "/"),
        HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1", path: ".evil.example/"),
        HTTPRequest(method: .trace, scheme: "http", authority: "127.0.0.1", path: "/"),
      ])
    func `a request that the client cannot send is an invalid resource`(request: HTTPRequest) async throws {
      await #expect {
        try await AsyncHTTPClientTransport().send(request, body: request.method == .trace ? Data("x".utf8) : nil)
      } throws: { error in
        guard case ReactorError.invalidResource = error else { return false }
        return true
      }
    }
  }
#endif
