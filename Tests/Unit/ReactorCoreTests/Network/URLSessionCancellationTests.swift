import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5)))
struct `URLSession cancelled` {
  /// The disturbance of one of the many exchanges.
  private enum Moment: CaseIterable {
    case atOnce, soon, whenTheServerHasIt, inTheBody, never
  }

  @Test func `two thousand exchanges cancelled at any moment all end`() async throws {
    let arrivals = Shared<[String: Latch]>([:])
    let ended = Shared((answers: 0, cancellations: 0))
    try await MockServer.run { request in
      arrivals.value[request.target]?.open()
      return .chunked([Data("abc".utf8), Data(repeating: 7, count: 100_000)])
    } body: { server in
      let transport = URLSessionTransport()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<2_000 {
          if index >= 40 { try await group.next() }
          group.addTask {
            let moment = Moment.allCases[index % Moment.allCases.count]
            let (target, arrived) = ("/\(index)", Latch())
            if moment == .whenTheServerHasIt { arrivals.change { $0[target] = arrived } }
            let call = Task {
              try await transport.send(server.request(target), body: nil) { progress in
                if moment == .inTheBody, progress.received > 0 { arrived.open() }
              }
            }
            switch moment {
            case .atOnce: call.cancel()
            case .soon:
              try await Task.sleep(for: .microseconds(Int.random(in: 0..<5_000)))
              call.cancel()
            case .whenTheServerHasIt, .inTheBody:
              try await arrived.wait()
              call.cancel()
            case .never: break
            }
            do {
              let (_, body) = try await call.value
              #expect(body.count == 100_003)
              ended.change { $0.answers += 1 }
            } catch is CancellationError {
              #expect(moment != .never)
              ended.change { $0.cancellations += 1 }
            }
          }
        }
        try await group.waitForAll()
      }
      let (answers, cancellations) = ended.value
      #expect(answers + cancellations == 2_000)
      #expect(answers >= 400 && cancellations >= 400)
      #expect(server.mostOpenConnections <= 40)
      #expect(try await transport.send(server.request("/after")).1.count == 100_003)
    }
  }
}
