import Foundation
import ReactorCore
import Testing

@testable import ReactorConformance
@testable import ReactorLoopback
@testable import ReactorTesting

@Suite(.timeLimit(.minutes(5))) struct `The suite of every transport` {
  private func subject(patience: Duration = .never, limit: Duration = .never) -> TransportConformance.Subject {
    TransportConformance.Subject(
      make: { _ in ScriptedTransport() }, exceptions: [], check: "check", location: #_sourceLocation,
      patience: patience, limit: limit)
  }

  @Test func `the suite of every transport does not hang on a transport that keeps its connection`() async {
    let hungUp = Latch()
    await #expect {
      try await subject(patience: .milliseconds(10)).expectHangUp(hungUp, after: "an error")
    } throws: {
      "\($0)".hasPrefix("the end of the connection after an error did not happen within")
    }
    #expect(hungUp.waiterCount == 0)
  }

  @Test func `the suite of every transport does not hang on a transport that ignores its cancellation`() async throws {
    let gate = Gate()
    await #expect {
      try await subject(limit: .milliseconds(10)).run { _ in await gate.waitIgnoringCancellation() }
    } throws: {
      "\($0)".hasPrefix("the end of the check did not happen within")
    }
    gate.open()
    try await gate.waitForArrival()
  }

  @Test func `the suite of every transport ends with what a check throws, and with the caller`() async throws {
    struct Failed: Error {}
    await #expect(throws: Failed.self) { try await subject().run { _ in throw Failed() } }
    let cancelled = Latch()
    let task = Task {
      try await subject().run { _ in
        defer { cancelled.open() }
        try await Latch().wait()
      }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await cancelled.wait()
  }

  @Test func `the suite of every transport continues at once where it is closed`() async throws {
    let hungUp = Latch()
    hungUp.open()
    try await subject(patience: .never).expectHangUp(hungUp, after: "an error")
  }

  @Test(
    arguments: [
      "5\r\nhello\r\n0\r\n\r\n", "5;a=b\r\nhello\r\n00\r\nX: y\r\n\r\n", "1\r\nh\r\n4\r\nello\r\n0\r\n\r\n",
    ])
  func `the suite of every transport has a server that reads chunks`(chunks: String) throws {
    #expect(try received("chunked", chunks) == "hello")
  }

  @Test(
    arguments: [
      ("chunked", "x\r\nhello\r\n0\r\n\r\n"), ("chunked", "-5\r\nhello\r\n0\r\n\r\n"),
      ("chunked", "5\r\nhello!\r\n0\r\n\r\n"), ("gzip", "hello"),
    ])
  func `…and takes nothing else for a body`(coding: String, body: String) throws {
    #expect(try received(coding, body) == nil)
  }

  /// The body of the request that the server takes from these bytes.
  private func received(_ coding: String, _ body: String) throws -> String? {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Socket.stream, 0, &ends) == 0)
    let (client, server) = (Socket(descriptor: ends[0]), Socket(descriptor: ends[1]))
    defer { server.close() }
    client.send(Data("POST / HTTP/1.1\r\nTransfer-Encoding: \(coding)\r\n\r\n\(body)".utf8))
    client.close()
    var reader = RequestReader(socket: server)
    return reader.next().map { String(decoding: $0.body, as: UTF8.self) }
  }
}
