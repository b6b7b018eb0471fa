#if Observability && AsyncHTTPClient
  import AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import InMemoryTracing
  import ReactorAsyncHTTPClient
  import ReactorConformance
  import ReactorTesting
  import Testing
  import Tracing

  /// async-http-client makes its own spans as soon as a tracer is bootstrapped, with the whole URL.
  @Suite("A tracer of the whole program", .timeLimit(.minutes(3)), .serialized)
  struct SecretSpanTests {
    /// A process can bootstrap once.
    private static let tracer: InMemoryTracer = {
      let tracer = InMemoryTracer()
      InstrumentationSystem.bootstrap(tracer)
      return tracer
    }()

    private func texts() -> [String] {
      Self.tracer.finishedSpans.flatMap { span in
        var texts = [span.operationName]
        span.attributes.forEach { texts.append("\($0) \($1)") }
        return texts
      }
    }

    private func withServer(_ body: (String) async throws -> Void) async throws {
      _ = Self.tracer
      try await MockServer.run { _ in
        .text("x")
      } body: { server in
        try await body("http://127.0.0.1:\(server.port)/a?access_token=HUSH-\(server.port)")
      }
    }

    @Test func `a tracer of the whole program gets no span of the transport's own pool, and no secret`() async throws {
      try await withServer { text in
        let url = try #require(URL(string: text))
        _ = try await AsyncHTTPClientTransport().send(HTTPRequest(method: .get, url: url))
        #expect(!texts().contains { $0.contains("HUSH-\(url.port ?? 0)") })
      }
    }

    @Test func `a tracer of the whole program gets the secret from a client that traces by itself`() async throws {
      try await withServer { text in
        let url = try #require(URL(string: text))
        let client = HTTPClient(
          eventLoopGroupProvider: .singleton, configuration: .init(redirectConfiguration: .disallow))
        _ = try? await AsyncHTTPClientTransport(client: client).send(HTTPRequest(method: .get, url: url))
        try await client.shutdown()
        #expect(texts().contains { $0.contains("HUSH-\(url.port ?? 0)") })
      }
    }
  }
#endif
