import Foundation
import HTTPTypes
import ReactorCore
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A clock on which time passes when its gate opens.
private struct GateClock: Clock {
  let gate: Latch
  var now: ContinuousClock.Instant { .now }
  var minimumResolution: Duration { .zero }
  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws { try await gate.wait() }
}

@Suite(.timeLimit(.minutes(2)))
struct URLSessionCancellationTests {
  @Test func `the deadline ends the exchange and its connection`() async throws {
    let (time, hungUp) = (Latch(), Latch())
    try await LoopbackServer.run { _ in
      // By now the transport waits for the clock and for the answer.
      time.open()
      return .held(until: Latch(), hungUp: hungUp)
    } body: { server in
      let transport = URLSessionTransport(timeout: .seconds(10), clock: GateClock(gate: time))
      await #expect { try await transport.send(server.request()) } throws: { error in
        guard case ReactorError.timedOut = error else { return false }
        return true
      }
      try await hungUp.wait()
    }
  }

  @Test func `the deadline counts redirects and a slow body too`() async throws {
    let (time, hungUp) = (Latch(), Latch())
    try await LoopbackServer.run { request in
      if request.target == "/" { return .redirect(to: "/slow") }
      time.open()
      return .held(until: Latch(), hungUp: hungUp, sendingFirst: LoopbackServer.Reply.head(200, []) + Data("slow".utf8))
    } body: { server in
      let transport = URLSessionTransport(timeout: .seconds(10), clock: GateClock(gate: time))
      await #expect { try await transport.send(server.request()) } throws: { error in
        guard case ReactorError.timedOut = error else { return false }
        return true
      }
      try await hungUp.wait()
    }
  }

  @Test func `an exchange that ends leaves nobody waiting for the clock`() async throws {
    let time = Latch()
    try await LoopbackServer.run { _ in
      .text("x")
    } body: { server in
      _ = try await URLSessionTransport(clock: GateClock(gate: time)).send(server.request())
      #expect(time.waiterCount == 0)
    }
  }

  @Test(arguments: [Duration.never, .seconds(Int64.max / 2), .seconds(10_000_000), .zero, .seconds(-5)])
  func `any timeout is accepted`(timeout: Duration) async throws {
    try await LoopbackServer.run { _ in
      .text("x")
    } body: { server in
      do {
        _ = try await URLSessionTransport(timeout: timeout).send(server.request())
        #expect(timeout > .zero)
      } catch ReactorError.timedOut {
        #expect(timeout <= .zero)
      }
    }
  }

  @Test func `cancellation ends the call at once and the connection after it`() async throws {
    let (arrived, hungUp) = (Latch(), Latch())
    try await LoopbackServer.run { request in
      if request.target == "/after" { return .text("x") }
      arrived.open()
      return .held(until: Latch(), hungUp: hungUp)
    } body: { server in
      // Held until the end: its session's own end would close the connection too.
      let transport = URLSessionTransport()
      let task = Task { try await transport.send(server.request()) }
      try await arrived.wait()
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      try await hungUp.wait()
      _ = try await transport.send(server.request("/after"))
    }
  }

  @Test func `cancellation in the middle of a body ends the connection`() async throws {
    let (arrived, hungUp) = (Latch(), Latch())
    try await LoopbackServer.run { request in
      request.target == "/after"
        ? .text("x")
        : .held(
          until: Latch(), hungUp: hungUp,
          sendingFirst: LoopbackServer.Reply.head(200, [("Content-Length", "100")]) + Data("abc".utf8))
    } body: { server in
      // Held until the end: its session's own end would close the connection too.
      let transport = URLSessionTransport()
      let task = Task {
        try await transport.send(server.request(), body: nil) { if $0.received == 3 { arrived.open() } }
      }
      try await arrived.wait()
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      try await hungUp.wait()
      _ = try await transport.send(server.request("/after"))
    }
  }

  @Test func `a call that is cancelled before it starts sends nothing`() async throws {
    try await LoopbackServer.run { _ in
      .text("x")
    } body: { server in
      let (start, transport) = (Latch(), URLSessionTransport())
      let task = Task {
        try? await start.wait()
        return try await transport.send(server.request())
      }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(server.received.isEmpty)
      _ = try await transport.send(server.request())
    }
  }

  @Test func `progress is not called after the call has returned`() async throws {
    let (entered, mayLeave) = (Latch(), DispatchSemaphore(value: 0))
    let isInside = Shared(false)
    try await LoopbackServer.run { _ in
      .text("x")
    } body: { server in
      let task = Task {
        defer { #expect(!isInside.value) }
        return try await URLSessionTransport().send(server.request(), body: nil) { _ in
          isInside.change { $0 = true }
          entered.open()
          mayLeave.wait()
          isInside.change { $0 = false }
        }
      }
      try await entered.wait()
      task.cancel()
      mayLeave.signal()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  /// How one of the many exchanges is disturbed.
  private enum Moment: CaseIterable {
    case atOnce, soon, whenTheServerHasIt, inTheBody, never
  }

  @Test func `two thousand exchanges cancelled at any moment all end`() async throws {
    let arrivals = Shared<[String: Latch]>([:])
    let ended = Shared((answers: 0, cancellations: 0))
    try await LoopbackServer.run { request in
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
