import Foundation
import HTTPTypes
import ReactorCore

/// Progress reports during an exchange.
extension TransportConformance.Check {
  static let progress = [
    Self("the stages come in order, and the fraction goes from 0 to 1 and never back", unless: .progress) { subject in
      for (size, framing) in [(0, "/announced"), (300_000, "/announced"), (0, "/chunked"), (300_000, "/redirect")] {
        try await subject.serving { request in
          switch request.target {
          case "/redirect": .redirect(307, to: "/announced")
          case "/chunked": .chunked([bytes(200_000), bytes(300_000)])
          default: .status(200, body: bytes(500_000))
          }
        } body: { server, transport in
          let seen = Shared<[TransferProgress]>([])
          let body = size > 0 ? bytes(size) : nil
          _ = try await transport.send(server.request(framing, method: body == nil ? .get : .post), body: body) {
            progress in seen.change { $0.append(progress) }
          }
          expectOrder(subject, seen.value, "\(size) bytes to \(framing)", sent: Int64(size), received: 500_000)
        }
      }
    },
    Self("the wait for an answer is told before there is one", unless: .progress) { subject in
      for body in [nil, bytes(300_000)] {
        let (isWaiting, answered) = (Latch(), Shared(false))
        try await subject.serving { _ in
          .held(until: isWaiting)
        } body: { server, transport in
          _ = try await transport.send(server.request(method: body == nil ? .get : .post), body: body) { progress in
            if progress.stage == .receiving { answered.change { $0 = true } }
            if progress.stage == .waiting, progress.sent == progress.toSend { isWaiting.open() }
          }
          subject.expect(answered.value, "the answer was not told")
        }
      }
    },
    Self("progress is not told after the call has returned", unless: .progress) { subject in
      let (entered, mayLeave, isInside) = (Latch(), DispatchSemaphore(value: 0), Shared(false))
      try await subject.serving { _ in
        .text("x")
      } body: { server, transport in
        let task = Task {
          defer { subject.expect(!isInside.value, "the call has returned, and its closure runs") }
          return try await transport.send(server.request(), body: nil) { progress in
            guard progress.stage == .receiving, !entered.isOpen else { return }
            isInside.change { $0 = true }
            entered.open()
            mayLeave.wait()
            isInside.change { $0 = false }
          }
        }
        // Releases the closure's thread, however the call ends.
        defer { mayLeave.signal() }
        try await subject.wait(for: entered, "the answer's progress")
        task.cancel()
        mayLeave.signal()
        await subject.expectCancellation(of: "the call") { try await task.value }
      }
    },
  ]

  private static func expectOrder(
    _ subject: TransportConformance.Subject, _ seen: [TransferProgress], _ what: String, sent: Int64, received: Int64
  ) {
    let fractions = seen.map(\.fractionCompleted)
    subject.expect(fractions == fractions.sorted(), "\(what): the fraction goes back: \(fractions)")
    subject.expect(seen.map(\.stage) == seen.map(\.stage).sorted(), "\(what): the stage goes back")
    subject.expect(seen.map(\.sent) == seen.map(\.sent).sorted(), "\(what): sent goes back")
    subject.expect(seen.map(\.received) == seen.map(\.received).sorted(), "\(what): received goes back")
    subject.expect(seen.allSatisfy { $0.toSend == sent }, "\(what): the size to send changes")
    let end = TransferProgress(stage: .receiving, sent: sent, toSend: sent, received: received, expected: received)
    subject.expect(seen.last == end, "\(what): the last is \(String(describing: seen.last))")
    subject.expect(fractions.last == 1 && (fractions.first ?? 1) < 0.1, "\(what): \(fractions)")
    subject.expect(seen.count > 3, "\(what): told \(seen.count) times")
  }
}
