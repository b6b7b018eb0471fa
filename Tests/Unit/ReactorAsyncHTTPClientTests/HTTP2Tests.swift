#if AsyncHTTPClient
  import AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import NIOSSL
  import ReactorAsyncHTTPClient
  import ReactorCore
  import ReactorConformance
  import ReactorTesting
  import TestSupport
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: UntrustedServer.isAvailable))
  struct `AsyncHTTPClient over HTTP 2` {
    /// Calls `body` with a transport that trusts the server.
    private func exchange(
      _ body: (HTTP2Server, AsyncHTTPClientTransport) async throws -> Void
    ) async throws {
      try await HTTP2Server.run { server in
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.tlsConfiguration = .makeClientConfiguration()
        configuration.tlsConfiguration?.trustRoots = .certificates(server.certificates)
        try await withClient(configuration) { try await body(server, AsyncHTTPClientTransport(client: $0)) }
      }
    }

    private func request(_ server: HTTP2Server, _ target: String, _ method: HTTPRequest.Method = .get) -> HTTPRequest {
      HTTPRequest(method: method, scheme: "https", authority: server.authority, path: target)
    }

    @Test func `thirty-two requests at once share one connection`() async throws {
      try await exchange { server, transport in
        // The first finds out what the server speaks.
        let (response, _) = try await transport.send(request(server, "/1"))
        #expect(response.headerFields[values: try #require(HTTPField.Name("x-version"))] == ["2"])
        try await withThrowingTaskGroup(of: Void.self) { group in
          for size in 1...32 {
            group.addTask {
              let (_, body) = try await transport.send(request(server, "/\(size * 10_000)"))
              #expect(body == Data(repeating: 7, count: size * 10_000))
            }
          }
          try await group.waitForAll()
        }
        #expect(server.connections == 1)
        #expect(server.streams == 33)
      }
    }

    @Test func `a large body goes out piece by piece`() async throws {
      try await exchange { server, transport in
        let seen = Shared<[Int64]>([])
        let (_, body) = try await transport.send(request(server, "/", .post), body: Data(count: 5_000_000)) {
          progress in
          seen.change { $0.append(progress.sent) }
        }
        #expect(body == Data("5000000".utf8))
        #expect(seen.value.count > 10)
        #expect(seen.value == seen.value.sorted())
        #expect(seen.value.last == 5_000_000)
      }
    }

    @Test func `cancellation resets the stream and keeps the connection`() async throws {
      try await exchange { server, transport in
        let task = Task { try await transport.send(request(server, "/held")) }
        try await server.arrived.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await server.reset.wait()
        #expect(try await transport.send(request(server, "/3")).1.count == 3)
        #expect(server.connections == 1)
      }
    }

    @Test func `an unsigned certificate is an error`() async throws {
      try await UntrustedServer.run { server in
        let request = HTTPRequest(method: .get, scheme: "https", authority: server.authority, path: "/")
        await #expect {
          try await AsyncHTTPClientTransport().send(request)
        } throws: { error in
          if case TransportError.notSecure = error { true } else { false }
        }
        // The server answers a client that does not verify.
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.tlsConfiguration = .makeClientConfiguration()
        configuration.tlsConfiguration?.certificateVerification = .none
        try await withClient(configuration) { client in
          let (response, _) = try await AsyncHTTPClientTransport(client: client).send(request)
          #expect(response.status == .ok)
        }
      }
    }
  }

  /// Calls `body` with a client, and shuts it down.
  private func withClient(
    _ configuration: HTTPClient.Configuration, _ body: (HTTPClient) async throws -> Void
  ) async throws {
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let result: Result<Void, any Error>
    do { result = .success(try await body(client)) } catch { result = .failure(error) }
    try await client.shutdown()
    try result.get()
  }
#endif
