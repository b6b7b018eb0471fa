import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5)))
struct `URLSession's errors` {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var reply: MockServer.Response
    var codes: [URLError.Code]
  }

  static let abc = Data("abc".utf8)
  static let announced = MockServer.Response.head(200, [("Content-Length", "100")])

  static let cases: [Case] = [
    Case(
      testDescription: "less than announced", reply: .short(announcing: 100, body: abc), codes: [.networkConnectionLost]
    ),
    Case(
      testDescription: "nothing of what was announced", reply: .short(announcing: 100, body: Data()),
      codes: [.networkConnectionLost]),
    Case(
      testDescription: "less than announced, compressed",
      reply: .short(announcing: 100, body: Data([0x1f, 0x8b, 8, 0]), fields: [("Content-Encoding", "gzip")]),
      codes: [.networkConnectionLost, .cannotDecodeContentData]),
    Case(
      testDescription: "no last chunk", reply: .chunked([abc], isWhole: false), codes: [.networkConnectionLost]),
    Case(
      testDescription: "closed before an answer", reply: .close, codes: [.badServerResponse, .networkConnectionLost]),
    Case(testDescription: "reset before an answer", reply: .reset(), codes: [.networkConnectionLost]),
    Case(testDescription: "reset in the body", reply: .reset(after: announced + abc), codes: [.networkConnectionLost]),
    Case(
      testDescription: "no HTTP", reply: .raw("220 mail.example.com ready\r\n\r\n"),
      codes: [.badServerResponse, .networkConnectionLost]),
    Case(
      testDescription: "a status that is no number", reply: .raw("HTTP/1.1 abc\r\n\r\n"), codes: [.badServerResponse]),
    Case(
      testDescription: "an interim response alone", reply: .raw("HTTP/1.1 100 Continue\r\n\r\n"),
      codes: [.badServerResponse, .networkConnectionLost]),
    Case(
      testDescription: "no gzip in gzip",
      reply: .text("this is no gzip", fields: [("Content-Encoding", "gzip")]),
      codes: [.cannotDecodeContentData, .cannotDecodeRawData]),
  ]

  @Test(arguments: cases)
  func `a broken answer is an error that says what happened`(_ bad: Case) async throws {
    try await MockServer.run { _ in
      bad.reply
    } body: { server in
      let error = await #expect(throws: URLError.self) { try await URLSessionTransport().send(server.request()) }
      #expect(error.map { bad.codes.contains($0.code) } == true, "\(String(describing: error))")
    }
  }

  /// See findings/foundation-post-arrives-twice.sh.
  @Test(arguments: [HTTPRequest.Method.post, .patch], [nil, "a", String(repeating: "a", count: 60_000)])
  func `a change is sent once, though the server closes a kept connection before it reads the body`(
    method: HTTPRequest.Method, body: String?
  ) async throws {
    let count = Shared(0)
    let server = try MockServer.withoutHTTP { connection in
      while let head = connection.head() {
        guard head.hasPrefix("GET ") else { return count.change { $0 += 1 } }
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      }
    }
    defer { server.stop() }
    let transport = URLSessionTransport()
    _ = try await transport.send(server.request())
    await #expect(throws: (any Error).self) {
      try await transport.send(server.request(method: method), body: body.map { Data($0.utf8) })
    }
    #expect(count.value == 1)
  }

  @Test func `a port without a listener is a connection that cannot be made`() async throws {
    let port = MockServer.unusedPort
    let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(port)", path: "/")
    let error = await #expect(throws: URLError.self) { try await URLSessionTransport().send(request) }
    #expect(error?.code == .cannotConnectToHost)
  }

  @Test func `a name that does not resolve is a host that cannot be found`() async throws {
    let request = HTTPRequest(method: .get, scheme: "http", authority: "does-not-exist.invalid", path: "/")
    let error = await #expect(throws: URLError.self) { try await URLSessionTransport().send(request) }
    #expect([.cannotFindHost, .dnsLookupFailed].contains(error?.code))
  }

  @Test(.enabled(if: UntrustedServer.isAvailable))
  func `an unsigned certificate is an error`() async throws {
    try await UntrustedServer.run { server in
      let request = HTTPRequest(method: .get, scheme: "https", authority: server.authority, path: "/")
      let error = await #expect(throws: URLError.self) { try await URLSessionTransport().send(request) }
      let codes: [URLError.Code] = [
        .serverCertificateUntrusted, .serverCertificateHasUnknownRoot, .secureConnectionFailed,
      ]
      #expect(error.map { codes.contains($0.code) } == true, "\(String(describing: error))")
    }
  }
}
