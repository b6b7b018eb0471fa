import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

@Suite struct `Progress of an exchange` {
  @Test(
    arguments: [
      (TransferProgress(), 0), (TransferProgress(stage: .waiting), 0.05),
      (TransferProgress(stage: .sending, sent: 0, toSend: 100), 0.05),
      (TransferProgress(stage: .sending, sent: 50, toSend: 100), 0.25),
      (TransferProgress(stage: .waiting, sent: 100, toSend: 100), 0.45),
      (TransferProgress(stage: .receiving, sent: 100, toSend: 100, received: 0, expected: 10), 0.6),
      (TransferProgress(stage: .receiving, received: 0, expected: 10), 0.2),
      (TransferProgress(stage: .receiving, received: 5, expected: 10), 0.6),
      (TransferProgress(stage: .receiving, received: 65_536), 0.6),
      (TransferProgress(stage: .receiving, received: 0, expected: 0), 1),
    ] as [(TransferProgress, Double)])
  func `the fraction counts latency and both bodies`(progress: TransferProgress, fraction: Double) {
    #expect(abs(progress.fractionCompleted - fraction) < 1e-9)
  }

  @Test(arguments: [Int64.min, -1, 0, 1, .max], [Int64.min, -1, 0, 1, .max])
  func `the fraction is between 0 and 1, whatever the numbers`(a: Int64, b: Int64) {
    for stage in [TransferProgress.Stage.connecting, .sending, .waiting, .receiving] {
      for expected in [nil, a, b] {
        for (sent, toSend) in [(a, b), (b, a)] {
          let progress = TransferProgress(stage: stage, sent: sent, toSend: toSend, received: b, expected: expected)
          #expect((0...1).contains(progress.fractionCompleted), "\(progress)")
        }
      }
    }
  }

  @Test func `without a stage, the progress derives it from its numbers`() {
    #expect(TransferProgress().stage == .connecting)
    #expect(TransferProgress(sent: 1, toSend: 2).stage == .sending)
    #expect(TransferProgress(expected: 1).stage == .receiving)
    #expect(TransferProgress(received: 1).stage == .receiving)
  }
}

@Suite struct `Progress as an event` {
  private func receiving(_ received: Int64, of expected: Int64?) -> TransferProgress {
    TransferProgress(stage: .receiving, received: received, expected: expected)
  }

  @Test func `progress is reported only within a body, in steps of at least a twentieth`() {
    #expect(!TransferProgress(stage: .connecting).isWorthReporting(after: nil))
    #expect(!TransferProgress(stage: .waiting, sent: 5, toSend: 5).isWorthReporting(after: nil))
    #expect(!receiving(0, of: 100).isWorthReporting(after: nil))
    #expect(receiving(50, of: 100).isWorthReporting(after: receiving(0, of: 100)))
    #expect(!receiving(51, of: 100).isWorthReporting(after: receiving(50, of: 100)))
    #expect(!receiving(100, of: 100).isWorthReporting(after: receiving(50, of: 100)))
    #expect(receiving(1 << 20, of: nil).isWorthReporting(after: receiving(1, of: nil)))
    #expect(TransferProgress(stage: .sending, sent: 50, toSend: 100).isWorthReporting(after: nil))
  }

  @Test func `progress is an event of a flight`() async throws {
    struct Slow: Transport {
      func send(
        _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
      ) async throws -> (HTTPResponse, Data) {
        for received in [1, 2, 50, 51, 100] as [Int64] {
          progress(TransferProgress(stage: .receiving, received: received, expected: 100))
        }
        return (HTTPResponse(status: .ok), Data("1".utf8))
      }
    }
    let layer = ModelLayer(baseURL: Bench.url, transport: Slow(), reachability: .always)
    let told = Shared<[Int64]>([])
    let token = layer.observeEvents { event in
      if case .progress(let progress) = event.kind { told.change { $0.append(progress.received) } }
    }
    #expect(try await layer.reactor(Int.self).fetch("number") == 1)
    #expect(told.value == [1, 50])
    token.cancel()
  }

  @Test func `progress begins again with each attempt`() async throws {
    struct Failing: Transport {
      let tick = Tick()
      let look: @Sendable () -> Void

      func send(
        _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
      ) async throws -> (HTTPResponse, Data) {
        let attempt = tick.next()
        look()
        progress(TransferProgress(stage: .waiting))
        look()
        progress(TransferProgress(stage: .receiving, received: attempt == 1 ? 50 : 10, expected: 100))
        look()
        if attempt == 1 { throw TransportError.connectionFailed("reset") }
        return (HTTPResponse(status: .ok), Data("1".utf8))
      }
    }
    let (reactor, seen) = (Shared<Reactor<Int>?>(nil), Shared<[Int64?]>([]))
    let transport = Failing {
      let progress = reactor.value?.states(for: "number").current.progress
      seen.change { $0.append(progress?.received) }
    }
    var configuration = ReactorConfiguration()
    configuration.retry.firstDelay = .zero
    let layer = ModelLayer(
      baseURL: Bench.url, transport: transport, reachability: .always, configuration: configuration)
    reactor.change { $0 = layer.reactor() }
    #expect(try await reactor.value?.fetch("number") == 1)
    // Between the attempts, it stays where the first one has come to.
    #expect(seen.value == [nil, 0, 50, 50, 0, 10])
  }
}
