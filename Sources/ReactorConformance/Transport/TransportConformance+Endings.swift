import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// Cancellation and the deadline.
extension TransportConformance.Check {
  private typealias Response = MockServer.Response

  static let endings = [
    Self("cancellation ends the call at once, and then the connection") { subject in
      let (arrived, hungUp) = (Latch(), Latch())
      try await subject.serving { request in
        if request.target == "/good" { return .text("good") }
        arrived.open()
        return .held(until: Latch(), hungUp: hungUp)
      } body: { server, transport in
        let task = Task { try await transport.send(server.request()) }
        try await subject.wait(for: arrived, "the request")
        task.cancel()
        await subject.expectCancellation(of: "waiting for an answer") { try await task.value }
        try await subject.expectHangUp(hungUp, after: "a cancellation")
        await subject.expectGood(transport, server, after: "a cancellation")
      }
    },
    Self("cancellation within a body never returns a short body") { subject in
      for start in [
        Response.head(200, [("Content-Length", "100")]) + Data("abc".utf8), Response.head(200, []) + Data("abc".utf8),
        Response.head(200, [("Transfer-Encoding", "chunked")]) + Data("3\r\nabc\r\n".utf8),
      ] {
        try await expectEndInBody(subject, start)
      }
    },
    Self("cancellation during an upload closes the connection") { subject in
      // The body exceeds the buffers of both sides, and the server reads none of it.
      let large = Data(count: 64 << 20)
      let (arrived, cancelled, ended, count) = (Latch(), Latch(), Latch(), Shared(0))
      let server = try MockServer.withoutHTTP { connection in
        count.change { $0 += connection.drain(atLeast: 1) }
        arrived.open()
        connection.wait(for: cancelled)
        count.change { $0 += connection.drain() }
        ended.open()
      }
      defer { server.stop() }
      let transport = subject.make(.init())
      let task = Task { try await transport.send(server.request(method: .post), body: large) }
      try await subject.wait(for: arrived, "the start of the body")
      task.cancel()
      await subject.expectCancellation(of: "sending") { try await task.value }
      cancelled.open()
      try await subject.expectHangUp(ended, after: "a cancellation during an upload")
      subject.expect(count.value < large.count, "the whole body was sent after the cancellation")
    },
    Self("a call that is cancelled before it starts sends nothing") { subject in
      try await subject.serving { _ in
        .text("good")
      } body: { server, transport in
        let start = Latch()
        let task = Task {
          try? await start.wait()
          return try await transport.send(server.request())
        }
        task.cancel()
        await subject.expectCancellation(of: "the call") { try await task.value }
        subject.expect(server.requests.isEmpty, "the request was sent in spite of the cancellation")
        await subject.expectGood(transport, server, after: "a call that was cancelled")
      }
    },
    Self("the deadline ends the exchange and its connection", unless: .injectedClock) { subject in
      let start = Response.head(200, []) + Data("slow".utf8)
      for (what, first, target) in [
        ("waiting", Data(), "/"), ("in the body", start, "/"), ("redirected", start, "/out"),
      ] {
        try await expectTimeout(subject, what, first, target)
      }
    },
    Self("an exchange that has ended leaves no task waiting for the clock", unless: .injectedClock) { subject in
      let clock = TestClock()
      try await subject.serving({ _ in .text("x") }, settings: .init(clock: clock)) { server, transport in
        _ = try await transport.send(server.request())
        subject.expect(clock.sleeperCount == 0, "\(clock.sleeperCount) tasks still wait for the clock")
      }
    },
    Self("any timeout is accepted", unless: .injectedClock) { subject in
      for timeout in [Duration.never, .seconds(Int64.max / 2), .seconds(10_000_000), .zero, .seconds(-5)] {
        try await subject.serving({ _ in .text("x") }, settings: .init(timeout: timeout)) { server, transport in
          do {
            _ = try await transport.send(server.request())
            subject.expect(timeout > .zero, "a timeout of \(timeout) did not throw ReactorError.timedOut")
          } catch ReactorError.timedOut {
            subject.expect(timeout <= .zero, "a timeout of \(timeout) threw ReactorError.timedOut")
          }
        }
      }
    },
  ]

  private static func expectEndInBody(_ subject: TransportConformance.Subject, _ start: Data) async throws {
    let (sent, hungUp) = (Latch(), Latch())
    let isTold = !subject.exceptions.contains(.progress)
    try await subject.serving { request in
      if request.target == "/good" { return .text("good") }
      if !isTold { sent.open() }
      return .held(until: Latch(), hungUp: hungUp, sendingFirst: start)
    } body: { server, transport in
      let task = Task {
        try await transport.send(server.request(), body: nil) { if $0.received == 3 { sent.open() } }
      }
      try await subject.wait(for: sent, "the start of the body")
      task.cancel()
      await subject.expectCancellation(of: "in the body") { try await task.value }
      try await subject.expectHangUp(hungUp, after: "a cancellation in the body")
      await subject.expectGood(transport, server, after: "a cancellation in the body")
    }
  }

  private static func expectTimeout(
    _ subject: TransportConformance.Subject, _ what: String, _ first: Data, _ target: String
  ) async throws {
    let (clock, arrived, hungUp) = (TestClock(), Latch(), Latch())
    try await subject.serving(
      { request in
        if request.target == "/out" { return .redirect(to: "/") }
        arrived.open()
        return .held(until: Latch(), hungUp: hungUp, sendingFirst: first)
      }, settings: .init(timeout: .seconds(10), clock: clock)
    ) { server, transport in
      let task = Task { try await transport.send(server.request(target)) }
      try await subject.wait(for: arrived, "the request, \(what)")
      try await clock.waitForSleepers()
      clock.advance(by: .seconds(10))
      let error = await subject.failure(of: what) { try await task.value }
      if case ReactorError.timedOut? = error {
      } else {
        subject.expect(false, "\(what): expected ReactorError.timedOut, got \(error.map { "\($0)" } ?? "no error")")
      }
      try await subject.expectHangUp(hungUp, after: what)
      subject.expect(clock.sleeperCount == 0, "\(what): \(clock.sleeperCount) tasks still wait for the clock")
    }
  }
}
