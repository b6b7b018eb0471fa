import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// Progress reports during an exchange.
extension TransportConformance.Check {
  static let progress = [
    Self("stages are in order, and the fraction rises from 0 to 1", unless: .progress) { subject in
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
    Self("the stage `waiting` is reported before the response arrives", unless: .progress) { subject in
      for body in [nil, bytes(300_000)] {
        let (isWaiting, answered) = (Latch(), Shared(false))
        try await subject.serving { _ in
          .held(until: isWaiting)
        } body: { server, transport in
          _ = try await transport.send(server.request(method: body == nil ? .get : .post), body: body) { progress in
            if progress.stage == .receiving { answered.change { $0 = true } }
            if progress.stage == .waiting, progress.sent == progress.toSend { isWaiting.open() }
          }
          subject.expect(answered.value, "the stage `receiving` was not reported")
        }
      }
    },
    Self("progress is not reported after the call has returned", unless: .progress) { subject in
      let (entered, mayLeave, isInside) = (Latch(), DispatchSemaphore(value: 0), Shared(false))
      try await subject.serving { _ in
        .text("x")
      } body: { server, transport in
        let task = Task {
          defer { subject.expect(!isInside.value, "the call returned while its progress closure was running") }
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
        try await subject.wait(for: entered, "the progress of the response")
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
    subject.expect(fractions == fractions.sorted(), "\(what): the fraction decreased: \(fractions)")
    subject.expect(seen.map(\.stage) == seen.map(\.stage).sorted(), "\(what): a stage was reported after a later one")
    subject.expect(seen.map(\.sent) == seen.map(\.sent).sorted(), "\(what): `sent` decreased")
    subject.expect(seen.map(\.received) == seen.map(\.received).sorted(), "\(what): `received` decreased")
    subject.expect(seen.allSatisfy { $0.toSend == sent }, "\(what): `toSend` is not always \(sent)")
    let end = TransferProgress(stage: .receiving, sent: sent, toSend: sent, received: received, expected: received)
    subject.expect(seen.last == end, "\(what): the last progress is \(seen.last, default: "missing")")
    subject.expect(
      fractions.last == 1 && (fractions.first ?? 1) < 0.1,
      "\(what): the fraction does not rise from 0 to 1: \(fractions)")
    subject.expect(seen.count > 3, "\(what): progress was reported only \(seen.count) times")
  }
}
