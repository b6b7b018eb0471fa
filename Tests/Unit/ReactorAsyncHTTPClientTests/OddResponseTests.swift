#if AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import ReactorAsyncHTTPClient
  import ReactorCore
  import ReactorConformance
  import ReactorTesting
  import TestSupport
  import Testing

  @Suite(.timeLimit(.minutes(3))) struct `Odd responses` {
    /// Returns the reaction of a transport to a response.
    private func reaction(
      of transport: any Transport, to odd: OddResponse
    ) async throws -> (reaction: OddResponse.Reaction, seen: String) {
      try await MockServer.run { _ in
        .raw(odd.bytes)
      } body: { server in
        do {
          let (response, body) = try await transport.send(server.request(method: odd.method))
          let isCoded = response.headerFields[.contentEncoding] == "br"
          let values = response.headerFields[values: try #require(HTTPField.Name("X"))].joined(separator: " / ")
          let text = (isCoded ? "coded" : String(decoding: body, as: UTF8.self)) + (values.isEmpty ? "" : "; \(values)")
          return (text == odd.reading ? .read : .other([text], ""), text)
        } catch {
          return (RetryPolicy.mayPass(.failure(error)) ? .retried : .error, "\(error)")
        }
      }
    }

    private func expect(_ expected: OddResponse.Reaction, of transport: any Transport, to odd: OddResponse) async throws
    {
      let (reaction, seen) = try await reaction(of: transport, to: odd)
      if case .other(let readings, _) = expected {
        #expect(readings.contains(seen))
      } else {
        #expect(reaction == expected, "\(seen)")
      }
    }

    @Test(arguments: OddResponse.all) func `are what the page says with AsyncHTTPClient`(odd: OddResponse) async throws
    {
      try await expect(odd.asyncHTTPClient, of: AsyncHTTPClientTransport(), to: odd)
    }

    #if os(Linux)
      @Test(arguments: OddResponse.all) func `are what the page says with URLSession`(odd: OddResponse) async throws {
        try await expect(odd.urlSession, of: URLSessionTransport(), to: odd)
      }
    #endif

    @Test func `that redirect twice lead to one target, or nowhere`() async throws {
      try await MockServer.run { request in
        guard request.target.count == 2 else { return .text("at \(request.target)") }
        let fields = [("Location", "/next"), ("Location", request.target == "/1" ? "/next" : "/other")]
        return .status(302, fields: fields, body: Data("moved".utf8))
      } body: { server in
        for transport in [AsyncHTTPClientTransport(), URLSessionTransport()] as [any Transport] {
          let (_, body) = try await transport.send(server.request("/1"))
          #expect(body == Data("at /next".utf8))
        }
        let (response, body) = try await AsyncHTTPClientTransport().send(server.request("/2"))
        #expect(response.status == .found)
        #expect(body == Data("moved".utf8))
      }
    }

    @Test func `are the rows of the page`() throws {
      let page = try Repository.markdown("Sources/ReactorCore/ReactorCore.docc/Transports.md")
      let heading = ["a response", "`URLSession` on Linux", "AsyncHTTPClient", "if it matters"]
      let table = try #require(page.tables.first { $0.heading == heading })
      let expected = OddResponse.all.map { [$0.name, $0.urlSession.words, $0.asyncHTTPClient.words] }
      #expect(table.rows.map { Array($0.prefix(3)) } == expected)
    }
  }
#endif
