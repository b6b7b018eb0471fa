#if AsyncHTTPClient
  import AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import NIOCore
  import NIOHTTP1
  import NIOSSL
  import ReactorCore
  import ReactorConformance
  import ReactorTesting
  import TestSupport
  import Testing

  @testable import ReactorAsyncHTTPClient

  /// The tests raise the lowest status, so that the check refuses what the client accepts.
  @Suite(.timeLimit(.minutes(3))) struct `The check of each response` {
    private let strict = ResponseOrder(lowestStatus: 300)

    private func head(_ code: Int) -> HTTPClientResponsePart {
      .head(HTTPResponseHead(version: .http1_1, status: .init(statusCode: code)))
    }

    @Test func `accepts interim heads, a head, a body and an end, again and again`() throws {
      var order = ResponseOrder()
      for code in [200, 204, 999, 101] {
        for part in [head(100), head(103), head(code), .body(ByteBuffer(string: "x")), .body(ByteBuffer()), .end(nil)] {
          try order.follow(part)
        }
        try order.follow(head(code))
        try order.follow(.end(["a": "b"]))
      }
    }

    @Test func `the check of each response refuses a head with a low status, and a second head`() throws {
      var order = strict
      #expect(throws: TransportError.invalidResponse("the status 204")) { try order.follow(head(204)) }
      try order.follow(head(404))
      #expect(throws: TransportError.invalidResponse("a second head within one response")) {
        try order.follow(head(404))
      }
    }

    @Test(arguments: [HTTPRequest.Method.get, .post])
    func `makes an error of a refused response, and of nothing else`(method: HTTPRequest.Method) async throws {
      try await MockServer.run {
        $0.target == "/good" ? .status(404, body: Data("good".utf8)) : .text("refused")
      } body: { server in
        let transport = AsyncHTTPClientTransport(pool: ConnectionPool(strict))
        for _ in 0..<3 {
          await #expect(throws: TransportError.invalidResponse("the status 200")) {
            try await transport.send(
              server.request(method: method), body: method == .post ? Data(count: 300_000) : nil)
          }
          let (_, body) = try await transport.send(server.request("/good"))
          #expect(body == Data("good".utf8))
        }
        #expect(server.requests.count == 6)
      }
    }

    @Test(.enabled(if: UntrustedServer.isAvailable)) func `sees the responses of HTTP 2 too`() async throws {
      try await HTTP2Server.run { server in
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.tlsConfiguration = .makeClientConfiguration()
        configuration.tlsConfiguration?.trustRoots = .certificates(server.certificates)
        configuration.addResponseCheck(strict)
        try await withClient(configuration) { client in
          let request = HTTPRequest(method: .get, scheme: "https", authority: server.authority, path: "/3")
          for _ in 0..<2 {
            await #expect(throws: TransportError.invalidResponse("the status 200")) {
              try await AsyncHTTPClientTransport(client: client).send(request)
            }
          }
          #expect(server.connections == 1)
        }
      }
    }
  }
#endif
