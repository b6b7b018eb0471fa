#if AsyncHTTPClient
  import AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import NIOCore
  import NIOHTTP1
  import ReactorAsyncHTTPClient
  import ReactorCore
  import ReactorConformance
  import ReactorTesting
  import TestSupport
  import Testing

  @Suite(.timeLimit(.minutes(5)))
  struct `AsyncHTTPClient's errors` {
    private func isConnectionFailed(_ error: any Error) -> Bool {
      if case TransportError.connectionFailed = error { true } else { false }
    }

    private func isNotConnected(_ error: any Error) -> Bool {
      if case TransportError.notConnected = error { true } else { false }
    }

    @Test(arguments: ["127.0.0.1:1", "[::1]:1", "localhost:1", "does-not-exist.invalid"])
    func `without a listener, or with a name that does not resolve, nothing was sent`(authority: String) async {
      let request = HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/?token=abc")
      await #expect {
        try await AsyncHTTPClientTransport().send(request)
      } throws: {
        isNotConnected($0) && !"\($0)".contains("abc")
      }
    }

    @Test func `nothing was sent on an app's own client either`() async throws {
      var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
      configuration.connectionPool.retryConnectionEstablishment = false
      try await withClient(configuration) { client in
        let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:1", path: "/")
        await #expect {
          try await AsyncHTTPClientTransport(client: client).send(request)
        } throws: {
          isNotConnected($0)
        }
      }
    }

    @Test func `a server that hangs up before it answers is a connection that failed`() async throws {
      try await MockServer.run { _ in
        .close
      } body: { server in
        _ = await #expect {
          try await AsyncHTTPClientTransport().send(server.request(method: .post))
        } throws: {
          isConnectionFailed($0)
        }
      }
    }

    @Test func `a connection that is refused is tried again`() async throws {
      var configuration = ReactorConfiguration()
      configuration.retry.firstDelay = .zero
      let url = try #require(URL(string: "http://127.0.0.1:\(MockServer.unusedPort)"))
      let layer = ModelLayer(baseURL: url, transport: AsyncHTTPClientTransport(), configuration: configuration)
      let log = EventRecorder(layer)
      #expect(await error { try await layer.reactor(Note.self).fetch("note") } != nil)
      #expect(log.count(.retry) == 2)
    }

    @Test func `a body in chunks reaches the test server whole`() async throws {
      try await withClient { client in
        try await MockServer.run { _ in
          .text("x")
        } body: { server in
          for pieces in [[], ["a"], ["hello ", "world", String(repeating: "x", count: 100_000)]] as [[String]] {
            var request = HTTPClientRequest(url: server.url.absoluteString)
            request.method = .POST
            let buffers = AsyncStream<ByteBuffer> { continuation in
              for piece in pieces { continuation.yield(ByteBuffer(string: piece)) }
              continuation.finish()
            }
            request.body = .stream(buffers, length: .unknown)
            let response = try await client.execute(request, timeout: .seconds(30))
            #expect(response.status == .ok)
            #expect(server.requests.last?["Transfer-Encoding"] == "chunked")
            #expect(server.requests.last?.body == Data(pieces.joined().utf8))
          }
          #expect(server.requests.count == 3)
        }
      }
    }
  }
#endif
