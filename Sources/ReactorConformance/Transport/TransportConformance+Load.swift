import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting

/// Many exchanges at once.
extension TransportConformance.Check {
  static let load = [
    Self("of 32 concurrent requests, each gets its own response") { subject in
      try await subject.serving {
        .chunked([Data($0.target.utf8), Data(repeating: 7, count: 10_000)])
      } body: { server, transport in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for index in 0..<256 {
            if index >= 32 { try await group.next() }
            group.addTask {
              let (_, body) = try await transport.send(server.request("/\(index)"))
              let isOwn = body == Data("/\(index)".utf8) + Data(repeating: 7, count: 10_000)
              subject.expect(isOwn, "/\(index) got the response of \(String(decoding: body.prefix(5), as: UTF8.self))")
            }
          }
          try await group.waitForAll()
        }
        subject.expect(
          server.mostOpenConnections <= 32,
          "\(server.mostOpenConnections) connections were open at once, for 32 requests")
      }
    },
    Self("exchanges end whenever they are cancelled") { subject in
      let (arrivals, ended) = (Shared<[String: Latch]>([:]), Shared((answers: 0, cancellations: 0)))
      try await subject.serving { request in
        if request.target == "/good" { return .text("good") }
        arrivals.value[request.target]?.open()
        return .chunked([Data("abc".utf8), Data(repeating: 7, count: 100_000)])
      } body: { server, transport in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for index in 0..<400 {
            if index >= 32 { try await group.next() }
            group.addTask {
              let moment = Moment.allCases[index % Moment.allCases.count]
              switch try await end(of: "/\(index)", at: moment, server, transport, arrivals) {
              case let size?:
                subject.expect(size == 100_003, "the transport returned a body of \(size) bytes")
                ended.change { $0.answers += 1 }
              case nil:
                subject.expect(moment != .never, "an exchange threw CancellationError, but was not cancelled")
                ended.change { $0.cancellations += 1 }
              }
            }
          }
          try await group.waitForAll()
        }
        let (answers, cancellations) = ended.value
        subject.expect(answers + cancellations == 400 && answers >= 100 && cancellations >= 100, "\(ended.value)")
        await subject.expectGood(transport, server, after: "many cancellations")
      }
    },
  ]

  /// The moment at which an exchange is cancelled.
  private enum Moment: CaseIterable {
    case atOnce, whenTheServerHasIt, inTheBody, never
  }

  /// Returns the size of the body, or `nil` if the exchange was cancelled.
  private static func end(
    of target: String, at moment: Moment, _ server: MockServer, _ transport: any Transport,
    _ arrivals: Shared<[String: Latch]>
  ) async throws -> Int? {
    let arrived = Latch()
    if moment == .whenTheServerHasIt { arrivals.change { $0[target] = arrived } }
    let call = Task {
      // A transport without progress ends the wait with its exchange.
      defer { arrived.open() }
      return try await transport.send(server.request(target), body: nil) { progress in
        if moment == .inTheBody, progress.received > 0 { arrived.open() }
      }
    }
    if moment == .whenTheServerHasIt || moment == .inTheBody { try await arrived.wait() }
    if moment != .never { call.cancel() }
    do {
      return try await call.value.1.count
    } catch is CancellationError {
      return nil
    }
  }
}
