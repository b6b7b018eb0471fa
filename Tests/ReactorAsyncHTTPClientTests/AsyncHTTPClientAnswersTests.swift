#if AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import ReactorAsyncHTTPClient
  import ReactorCore
  import TestSupport
  import Testing

  extension LoopbackServer {
    func request(
      _ target: String = "/", method: HTTPRequest.Method = .get, fields: HTTPFields = [:]
    ) -> HTTPRequest {
      HTTPRequest(method: method, scheme: "http", authority: authority, path: target, headerFields: fields)
    }
  }

  extension AsyncHTTPClientTransport {
    func send(_ request: HTTPRequest, body: Data? = nil) async throws -> (HTTPResponse, Data) {
      try await send(request, body: body, progress: { _ in })
    }
  }

  @Suite(.timeLimit(.minutes(1)))
  struct `AsyncHTTPClient answers` {
    @Test(arguments: [200, 201, 204, 205, 299, 300, 304, 400, 401, 404, 407, 418, 500, 503, 599, 999])
    func `every status is an answer`(code: Int) async throws {
      let text = code == 204 || code == 304 ? Data() : Data("text".utf8)
      try await LoopbackServer.run { _ in
        .status(code, body: text)
      } body: { server in
        let (response, body) = try await AsyncHTTPClientTransport().send(server.request())
        #expect(response.status.code == code)
        #expect(body == text)
      }
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 3_000_000])
    func `a body arrives whole`(size: Int) async throws {
      let sent = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      try await LoopbackServer.run { request in
        request.target == "/chunked"
          ? .chunked([sent, Data("end".utf8)].filter { !$0.isEmpty }) : .status(200, body: sent)
      } body: { server async throws in
        let transport = AsyncHTTPClientTransport()
        #expect(try await transport.send(server.request()).1 == sent)
        #expect(try await transport.send(server.request("/chunked")).1 == sent + Data("end".utf8))
      }
    }

    @Test func `a body that ends with the connection is whole`() async throws {
      try await LoopbackServer.run { _ in
        .raw(LoopbackServer.Reply.head(200, []) + Data("to the end".utf8))
      } body: { server async throws in
        #expect(try await AsyncHTTPClientTransport().send(server.request()).1 == Data("to the end".utf8))
      }
    }

    @Test func `an interim response is not the answer`() async throws {
      try await LoopbackServer.run { _ in
        .raw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
      } body: { server in
        let (response, body) = try await AsyncHTTPClientTransport().send(server.request())
        #expect(response.status == .ok)
        #expect(body == Data("hi".utf8))
      }
    }

    @Test func `HEAD has the fields and no body, however large the announced one`() async throws {
      try await LoopbackServer.run { _ in
        .head(announcing: 1 << 40)
      } body: { server in
        let (response, body) = try await AsyncHTTPClientTransport().send(server.request(method: .head))
        #expect(response.headerFields[.contentLength] == "\(1 << 40)")
        #expect(body.isEmpty)
        #expect(server.received.map(\.method) == ["HEAD"])
      }
    }

    @Test func `fields keep their order and their duplicates`() async throws {
      let fields = [
        ("Set-Cookie", "a=1"), ("X-Name", "Ænima"), ("Set-Cookie", "b=2; Path=/, x"), ("Cache-Control", "no-cache"),
        ("cache-control", "private"), ("X-Empty", ""),
      ]
      try await LoopbackServer.run { _ in
        .text("x", fields: fields)
      } body: { server in
        let (response, _) = try await AsyncHTTPClientTransport().send(server.request())
        let received = response.headerFields.map { "\($0.name.rawName): \($0.value)" }
        #expect(received == ["Content-Length: 1"] + fields.map { "\($0.0): \($0.1)" })
        #expect(response.headerFields[values: .setCookie] == ["a=1", "b=2; Path=/, x"])
      }
    }

    @Test func `a compressed body is decoded, and the fields say so`() async throws {
      // "hello hello hello hello" by gzip.
      let gzipped = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJV8hAJwHjUT2NFwAAAA=="))
      try await LoopbackServer.run { _ in
        .status(200, fields: [("Content-Encoding", "gzip"), ("ETag", "\"1\"")], body: gzipped)
      } body: { server in
        let (response, body) = try await AsyncHTTPClientTransport().send(server.request())
        #expect(body == Data("hello hello hello hello".utf8))
        #expect(response.headerFields[.contentEncoding] == nil)
        #expect(response.headerFields[.contentLength] == nil)
        #expect(response.headerFields[.eTag] == "\"1\"")
      }
    }

    @Test func `a body may be a hundred times its compressed size, and the limit is that of the decoded one`()
      async throws
    {
      // 10,000 zero bytes by gzip.
      let gzipped = try #require(
        Data(base64Encoded: "H4sIAAAAAAACA+3BAQ0AAADCoPdPbQ43oAAAAAAAAAAAAODfAC7KO00QJwAA"))
      try await LoopbackServer.run { _ in
        .status(200, fields: [("Content-Encoding", "gzip")], body: gzipped)
      } body: { server async throws in
        let transport = AsyncHTTPClientTransport(maximumResponseSize: 10_000)
        #expect(try await transport.send(server.request()).1 == Data(count: 10_000))
        await #expect(throws: TransportError.responseTooLarge(limit: 9_999)) {
          try await AsyncHTTPClientTransport(maximumResponseSize: 9_999).send(server.request())
        }
      }
    }

    @Test func `a compressed body of a client that decodes nothing stays as it is`() async throws {
      let gzipped = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJV8hAJwHjUT2NFwAAAA=="))
      try await withClient { client in
        try await LoopbackServer.run { _ in
          .status(200, fields: [("Content-Encoding", "gzip")], body: gzipped)
        } body: { server in
          let (response, body) = try await AsyncHTTPClientTransport(client: client).send(server.request())
          #expect(body == gzipped)
          #expect(response.headerFields[.contentEncoding] == "gzip")
          #expect(response.headerFields[.contentLength] == "\(gzipped.count)")
        }
      }
    }

    @Test func `progress counts what was sent and received, up to what was announced`() async throws {
      let seen = Shared<[TransferProgress]>([])
      try await LoopbackServer.run { _ in
        .status(200, body: Data(repeating: 7, count: 500_000))
      } body: { server in
        _ = try await AsyncHTTPClientTransport().send(server.request(method: .post), body: Data("abc".utf8)) {
          progress in
          seen.change { $0.append(progress) }
        }
      }
      #expect(seen.value.first == TransferProgress(sent: 3, received: 0, expected: 500_000))
      #expect(seen.value.last == TransferProgress(sent: 3, received: 500_000, expected: 500_000))
      #expect(seen.value.map(\.received) == seen.value.map(\.received).sorted())
    }
  }
#endif
