#if AsyncHTTPClient && os(Linux)
  import Foundation
  import HTTPTypes
  import ReactorAsyncHTTPClient
  import ReactorCore
  import ReactorConformance
  import ReactorTesting
  import TestSupport
  import Testing

  @Suite(.timeLimit(.minutes(3))) struct `A failure with either transport` {
    enum Client: CaseIterable {
      case urlSession, asyncHTTPClient

      func transport(timeout: Duration = .seconds(60)) -> any Transport {
        switch self {
        case .urlSession: URLSessionTransport(timeout: timeout)
        case .asyncHTTPClient: AsyncHTTPClientTransport(timeout: timeout)
        }
      }
    }

    /// Returns the text of the error of a fetch of `note`, with `host` for the authority.
    private func text(_ transport: any Transport, _ authority: String, scheme: String = "http") async throws -> String {
      var configuration = ReactorConfiguration()
      configuration.retry = .never
      let layer = ModelLayer(
        baseURL: try #require(URL(string: "\(scheme)://\(authority)")), transport: transport,
        configuration: configuration)
      let failure = await error { try await layer.reactor(Note.self).fetch(Resource("note", query: ["token": "abc"])) }
      return "\(try #require(failure))".replacing(authority, with: "host")
    }

    @Test(arguments: Client.allCases)
    func `names the request, what happened and what to do`(client: Client) async throws {
      let port = MockServer.unusedPort
      let refused = try await text(client.transport(), "127.0.0.1:\(port)")
      let unknown = try await text(client.transport(), "does-not-exist.invalid")
      let timedOut = try await text(client.transport(timeout: .zero), "127.0.0.1:\(port)")
      switch client {
      case .urlSession:
        #expect(
          refused
            == "GET host/note: no server accepts connections at that host and port (URLError -1004); "
            + "check the base URL, and that the server runs")
        #expect(
          unknown
            == "GET host/note: the host was not found (URLError -1003); check the base URL and the connection")
      case .asyncHTTPClient:
        #expect(
          refused
            == "GET host/note: no connection was made: Connection refused; "
            + "check the base URL, and that the server runs")
        #expect(
          unknown
            == "GET host/note: no connection was made: the host was not found; "
            + "check the base URL, and that the server runs")
      }
      #expect(
        timedOut
          == "GET host/note: timed out; the server did not answer in time; "
          + "try again, or allow the transport more time")
    }

    @Test(arguments: Client.allCases)
    func `of a server without TLS says that no secure connection was made`(client: Client) async throws {
      try await MockServer.run { _ in
        .raw("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
      } body: { server in
        let text = try await text(client.transport(), "127.0.0.1:\(server.port)", scheme: "https")
        #expect(text.hasPrefix("GET host/note: "))
        #expect(text.contains(client == .urlSession ? "the secure connection failed" : "no secure connection was made"))
        #expect(text.hasSuffix("use http for a test server"))
      }
    }

    @Test(arguments: Client.allCases)
    func `a failure of an unknown coding says so`(client: Client) async throws {
      try await MockServer.run { _ in
        .status(200, fields: [("Content-Encoding", "gzip")], body: Data("{}".utf8))
      } body: { server in
        let text = try await text(client.transport(), "127.0.0.1:\(server.port)")
        #expect(text.hasPrefix("GET host/note: "))
        #expect(text.contains("not in the coding that its header names"))
      }
    }

    @Test(arguments: Client.allCases, [nil, "gzip"])
    func `in the middle of a body is retried`(client: Client, coding: String?) async throws {
      let whole = coding == nil ? Data(#"{"id":1,"text":"a"}"#.utf8) : Coded.bytes(Coded.note)
      let fields = coding.map { [("Content-Encoding", $0)] } ?? []
      let count = Shared(0)
      try await MockServer.run { _ in
        count.change { $0 += 1 }
        if count.value == 1 { return .short(announcing: whole.count, body: whole.dropLast(3), fields: fields) }
        if count.value == 2 {
          return .reset(after: MockServer.Response.head(200, fields + [("Content-Length", "999")]) + whole)
        }
        return .status(200, fields: fields, body: whole)
      } body: { server in
        var configuration = ReactorConfiguration()
        configuration.retry.firstDelay = .zero
        let layer = ModelLayer(baseURL: server.url, transport: client.transport(), configuration: configuration)
        let note = try await layer.reactor(Note.self).fetch("note")
        #expect(note == Note(1, "a"))
        #expect(count.value == 3)
      }
    }

    @Test func `the platform asks for no language by itself`() async throws {
      try await MockServer.run { _ in
        .text("x")
      } body: { server in
        _ = try await URLSessionTransport().send(server.request())
        _ = try await URLSessionTransport().send(server.request(fields: [.acceptLanguage: "de"]))
        #expect(server.requests.map { $0["Accept-Language"] } == ["*", "de"])
      }
    }
  }
#endif
