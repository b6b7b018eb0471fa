import Foundation
import HTTPTypes
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

extension URLSessionTransport {
  func send(_ request: HTTPRequest, body: Data? = nil) async throws -> (HTTPResponse, Data) {
    try await send(request, body: body, progress: { _ in })
  }
}

@Suite(.timeLimit(.minutes(1)))
struct URLSessionAnswersTests {
  @Test(arguments: [200, 201, 204, 205, 299, 300, 304, 400, 404, 407, 418, 500, 503, 599, 999])
  func `every status is an answer`(code: Int) async throws {
    try await LoopbackServer.run { _ in
      .status(code, body: code == 204 || code == 304 ? Data() : Data("text".utf8))
    } body: { server in
      let (response, body) = try await URLSessionTransport().send(server.request())
      #expect(response.status.code == code)
      #expect(body == (code == 204 || code == 304 ? Data() : Data("text".utf8)))
    }
  }

  @Test(
    arguments: [
      [], ["Basic realm=\"news\""], ["Basic"], ["Bearer"], ["Bearer realm=\"x\", error=\"invalid_token\""],
      ["Digest realm=\"x\", nonce=\"y\""], ["Negotiate"], [""], ["Basic realm="], ["Basic realm=\"a\"", "Bearer"],
    ])
  func `a 401 is an answer with its body, whatever it asks for`(challenges: [String]) async throws {
    try await LoopbackServer.run { _ in
      .status(401, fields: challenges.map { ("WWW-Authenticate", $0) }, body: Data("who are you?".utf8))
    } body: { server in
      let transport = URLSessionTransport()
      for _ in 0..<2 {
        let (response, body) = try await transport.send(
          server.request(fields: [.authorization: "Bearer expired"]))
        #expect(response.status == .unauthorized)
        #expect(body == Data("who are you?".utf8))
      }
      #expect(server.received.count == 2)
    }
  }

  @Test(arguments: [0, 1, 65_535, 65_536, 3_000_000])
  func `a body arrives whole`(size: Int) async throws {
    let sent = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try await LoopbackServer.run { request in
      request.target == "/chunked"
        ? .chunked([sent, Data("end".utf8)].filter { !$0.isEmpty }) : .status(200, body: sent)
    } body: { server async throws in
      let transport = URLSessionTransport()
      #expect(try await transport.send(server.request()).1 == sent)
      #expect(try await transport.send(server.request("/chunked")).1 == sent + Data("end".utf8))
    }
  }

  @Test func `a body that ends with the connection is whole`() async throws {
    try await LoopbackServer.run { _ in
      .raw(LoopbackServer.Reply.head(200, []) + Data("to the end".utf8))
    } body: { server async throws in
      #expect(try await URLSessionTransport().send(server.request()).1 == Data("to the end".utf8))
    }
  }

  @Test func `an interim response is not the answer`() async throws {
    try await LoopbackServer.run { _ in
      .raw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    } body: { server in
      let (response, body) = try await URLSessionTransport().send(server.request())
      #expect(response.status == .ok)
      #expect(body == Data("hi".utf8))
    }
  }

  @Test func `HEAD has the fields and no body, however large the announced one`() async throws {
    try await LoopbackServer.run { _ in
      .head(announcing: 1 << 40)
    } body: { server in
      let (response, body) = try await URLSessionTransport().send(server.request(method: .head))
      #expect(response.headerFields[.contentLength] == "\(1 << 40)")
      #expect(body.isEmpty)
      #expect(server.received.map(\.method) == ["HEAD"])
    }
  }

  @Test func `fields that occur twice come as one`() async throws {
    let fields = [
      ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("Cache-Control", "no-cache"), ("Cache-Control", "private"),
    ]
    try await LoopbackServer.run { _ in
      .text("x", fields: fields + [("X-Name", "Ænima")])
    } body: { server in
      let (response, _) = try await URLSessionTransport().send(server.request())
      #expect(response.headerFields[.setCookie] == "a=1, b=2")
      #expect(response.headerFields[.cacheControl] == "no-cache, private")
      #expect(HTTPField.Name("X-Name").flatMap { response.headerFields[$0] } == "Ænima")
    }
  }

  @Test func `a compressed body is decoded, and the fields say so`() async throws {
    // "hello hello hello hello" by gzip.
    let gzipped = try #require(
      Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJV8hAJwHjUT2NFwAAAA=="))
    try await LoopbackServer.run { _ in
      .status(200, fields: [("Content-Encoding", "gzip"), ("ETag", "\"1\"")], body: gzipped)
    } body: { server in
      let (response, body) = try await URLSessionTransport().send(server.request())
      #expect(body == Data("hello hello hello hello".utf8))
      #expect(response.headerFields[.contentEncoding] == nil)
      #expect(response.headerFields[.contentLength] == nil)
      #expect(response.headerFields[.eTag] == "\"1\"")
    }
  }

  @Test func `progress counts what was received, in order, up to the end`() async throws {
    let pieces = (0..<20).map { _ in Data(repeating: 7, count: 50_000) }
    let seen = Shared<[TransferProgress]>([])
    try await LoopbackServer.run { _ in
      .status(200, body: Data(pieces.joined()))
    } body: { server in
      _ = try await URLSessionTransport().send(server.request(), body: nil) { progress in
        seen.change { $0.append(progress) }
      }
      let received = seen.value.map(\.received)
      #expect(received == received.sorted())
      #expect(received.first == 0)
      #expect(received.last == 1_000_000)
      #expect(received.count > 2)
      #expect(seen.value.allSatisfy { $0.expected == 1_000_000 })
    }
  }

  @Test func `cookies are kept only where that is asked for`() async throws {
    for usesCookies in [false, true] {
      try await LoopbackServer.run { _ in
        .text("x", fields: [("Set-Cookie", "id=7; Path=/")])
      } body: { server in
        let transport = URLSessionTransport(usesCookies: usesCookies)
        _ = try await transport.send(server.request())
        _ = try await transport.send(server.request())
        #expect(server.received.map { $0["Cookie"] } == [nil, usesCookies ? "id=7" : nil])
        let other = URLSessionTransport(usesCookies: usesCookies)
        _ = try await other.send(server.request())
        #expect(server.received.last?["Cookie"] == nil)
      }
    }
  }

  @Test func `what may be cached is asked for again`() async throws {
    try await LoopbackServer.run { _ in
      .text("x", fields: [("Cache-Control", "max-age=3600")])
    } body: { server in
      let transport = URLSessionTransport()
      for _ in 0..<3 { _ = try await transport.send(server.request()) }
      #expect(server.received.count == 3)
    }
  }

  @Test func `exchanges in turn share a connection, which closes with the last copy`() async throws {
    try await LoopbackServer.run { _ in
      .text("x")
    } body: { server in
      do {
        let transport = URLSessionTransport()
        let copy = transport
        for _ in 0..<5 { _ = try await transport.send(server.request()) }
        _ = try await copy.send(server.request())
        #expect(server.acceptedConnections == 1)
        #expect(server.openConnections == 1)
      }
      try await server.waitUntilIdle()
    }
  }
}
