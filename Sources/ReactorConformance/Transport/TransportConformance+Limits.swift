import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// The maximum size of a response.
extension TransportConformance.Check {
  static let limits = [
    Self("a Content-Length above the limit ends the exchange before the body", unless: .sizeLimit) { subject in
      let hungUp = Latch()
      let head = MockServer.Response.head(200, [("Content-Length", "1001")])
      try await expectTooLarge(subject, .held(until: Latch(), hungUp: hungUp, sendingFirst: head), hungUp)
    },
    Self("a body that grows beyond the limit ends the exchange", unless: .sizeLimit) { subject in
      let hungUp = Latch()
      let chunk = Data("1f4\r\n".utf8) + Data(repeating: 1, count: 500) + Data("\r\n".utf8)
      let start = MockServer.Response.head(200, [("Transfer-Encoding", "chunked")]) + chunk + chunk
      try await expectTooLarge(
        subject, .held(until: Latch(), hungUp: hungUp, sendingFirst: start + Data("1\r\nx\r\n".utf8)), hungUp)
    },
    Self("a body of exactly the limit is whole", unless: .sizeLimit) { subject in
      let body = bytes(1_000)
      try await subject.serving(
        { $0.target == "/chunked" ? .chunked([body]) : .status(200, body: body) },
        settings: .init(maximumResponseSize: 1_000)
      ) { server, transport in
        for target in ["/", "/chunked"] {
          let (_, received) = try await transport.send(server.request(target))
          subject.expect(received == body, "\(target): the transport returned \(received.count) bytes")
        }
      }
    },
  ]

  private static func expectTooLarge(
    _ subject: TransportConformance.Subject, _ reply: MockServer.Response, _ hungUp: Latch
  ) async throws {
    try await subject.serving(
      { $0.target == "/good" ? .text("good") : reply }, settings: .init(maximumResponseSize: 1_000)
    ) { server, transport in
      await subject.expectFailure(of: "1,001 bytes", .responseTooLarge(limit: 1_000)) {
        try await transport.send(server.request())
      }
      try await subject.expectHangUp(hungUp, after: "too large a body")
      await subject.expectGood(transport, server, after: "too large a body")
    }
  }
}
