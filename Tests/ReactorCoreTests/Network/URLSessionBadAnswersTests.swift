import Foundation
import HTTPTypes
import ReactorCore
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(1)))
struct URLSessionBadAnswersTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var reply: LoopbackServer.Reply
    var codes: [URLError.Code]
  }

  static let abc = Data("abc".utf8)
  static let announced = LoopbackServer.Reply.head(200, [("Content-Length", "100")])

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
  func `a broken answer is an error, and the next exchange works`(_ bad: Case) async throws {
    try await LoopbackServer.run {
      $0.target == "/good" ? .text("good") : bad.reply
    } body: { server async throws in
      let transport = URLSessionTransport()
      let error = await #expect(throws: URLError.self) { try await transport.send(server.request()) }
      #expect(error.map { bad.codes.contains($0.code) } == true, "\(String(describing: error))")
      #expect(try await transport.send(server.request("/good")).1 == Data("good".utf8))
    }
  }

  @Test(arguments: [HTTPRequest.Method.post, .put])
  func `a request that changes something is sent once, whatever becomes of it`(method: HTTPRequest.Method) async throws
  {
    try await LoopbackServer.run {
      $0.method == "GET" ? .text("x") : .close
    } body: { server in
      let transport = URLSessionTransport()
      _ = try await transport.send(server.request())
      await #expect(throws: URLError.self) { try await transport.send(server.request(method: method), body: Self.abc) }
      #expect(server.received.filter { $0.method == method.rawValue }.count == 1)
    }
  }

  @Test func `nobody listening is a connection that cannot be made`() async throws {
    let port = try LoopbackServer.unusedPort()
    let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(port)", path: "/")
    let error = await #expect(throws: URLError.self) { try await URLSessionTransport().send(request) }
    #expect(error?.code == .cannotConnectToHost)
  }

  @Test func `a name that does not resolve is a host that cannot be found`() async throws {
    let request = HTTPRequest(method: .get, scheme: "http", authority: "does-not-exist.invalid", path: "/")
    let error = await #expect(throws: URLError.self) { try await URLSessionTransport().send(request) }
    #expect([.cannotFindHost, .dnsLookupFailed].contains(error?.code))
  }

  @Test func `an announced size beyond the limit ends the exchange before the body`() async throws {
    let hungUp = Latch()
    try await LoopbackServer.run { _ in
      .held(until: Latch(), hungUp: hungUp, sendingFirst: LoopbackServer.Reply.head(200, [("Content-Length", "1001")]))
    } body: { server in
      let transport = URLSessionTransport(maximumResponseSize: 1_000)
      await #expect(throws: TransportError.responseTooLarge(limit: 1_000)) {
        try await transport.send(server.request())
      }
      try await hungUp.wait()
    }
  }

  @Test func `a body that grows beyond the limit ends the exchange`() async throws {
    let hungUp = Latch()
    let chunk = Data("1f4\r\n".utf8) + Data(repeating: 1, count: 500) + Data("\r\n".utf8)
    let start = LoopbackServer.Reply.head(200, [("Transfer-Encoding", "chunked")]) + chunk + chunk
    try await LoopbackServer.run { _ in
      .held(until: Latch(), hungUp: hungUp, sendingFirst: start + Data("1\r\nx\r\n".utf8))
    } body: { server in
      let transport = URLSessionTransport(maximumResponseSize: 1_000)
      await #expect(throws: TransportError.responseTooLarge(limit: 1_000)) {
        try await transport.send(server.request())
      }
      try await hungUp.wait()
    }
  }

  @Test func `a body of exactly the limit is whole`() async throws {
    let body = Data(repeating: 1, count: 1_000)
    try await LoopbackServer.run {
      $0.target == "/chunked" ? .chunked([body]) : .status(200, body: body)
    } body: { server async throws in
      let transport = URLSessionTransport(maximumResponseSize: 1_000)
      #expect(try await transport.send(server.request()).1 == body)
      #expect(try await transport.send(server.request("/chunked")).1 == body)
    }
  }
}
