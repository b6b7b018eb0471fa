#if AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import ReactorAsyncHTTPClient
  import ReactorCore
  import TestSupport
  import Testing

  /// A clock on which time passes when its latch opens.
  private struct LatchClock: Clock {
    let latch: Latch
    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws { try await latch.wait() }
  }

  @Suite(.timeLimit(.minutes(2)))
  struct `AsyncHTTPClient cancellation` {
    @Test func `the deadline ends the exchange and its connection`() async throws {
      let (time, hungUp) = (Latch(), Latch())
      try await LoopbackServer.run { _ in
        time.open()
        return .held(until: Latch(), hungUp: hungUp)
      } body: { server in
        let transport = AsyncHTTPClientTransport(timeout: .seconds(10), clock: LatchClock(latch: time))
        await #expect { try await transport.send(server.request()) } throws: { isTimeout($0) }
        try await hungUp.wait()
      }
    }

    @Test func `the deadline counts redirects and a slow body too`() async throws {
      let (time, hungUp) = (Latch(), Latch())
      try await LoopbackServer.run { request in
        if request.target == "/" { return .redirect(to: "/slow") }
        return .held(
          until: Latch(), hungUp: hungUp, sendingFirst: LoopbackServer.Reply.head(200, []) + Data("slow".utf8))
      } body: { server in
        let transport = AsyncHTTPClientTransport(timeout: .seconds(10), clock: LatchClock(latch: time))
        await #expect {
          try await transport.send(server.request(), body: nil) { if $0.received == 4 { time.open() } }
        } throws: { isTimeout($0) }
        try await hungUp.wait()
      }
    }

    @Test func `an exchange that ends leaves nobody waiting for the clock`() async throws {
      let time = Latch()
      try await LoopbackServer.run { _ in
        .text("x")
      } body: { server in
        _ = try await AsyncHTTPClientTransport(clock: LatchClock(latch: time)).send(server.request())
        #expect(time.waiterCount == 0)
      }
    }

    @Test(arguments: [Duration.never, .seconds(Int64.max / 2), .seconds(10_000_000), .zero, .seconds(-5)])
    func `any timeout is accepted`(timeout: Duration) async throws {
      try await LoopbackServer.run { _ in
        .text("x")
      } body: { server in
        do {
          _ = try await AsyncHTTPClientTransport(timeout: timeout).send(server.request())
          #expect(timeout > .zero)
        } catch ReactorError.timedOut {
          #expect(timeout <= .zero)
        }
      }
    }

    @Test func `cancellation ends the call at once and the connection after it`() async throws {
      let (arrived, hungUp) = (Latch(), Latch())
      try await LoopbackServer.run { _ in
        arrived.open()
        return .held(until: Latch(), hungUp: hungUp)
      } body: { server in
        let task = Task { try await AsyncHTTPClientTransport().send(server.request()) }
        try await arrived.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await hungUp.wait()
      }
    }

    @Test(arguments: [true, false])
    func `cancellation in the middle of a body is no short body`(isAnnounced: Bool) async throws {
      let (arrived, hungUp) = (Latch(), Latch())
      let fields = isAnnounced ? [("Content-Length", "100")] : []
      try await LoopbackServer.run { _ in
        .held(until: Latch(), hungUp: hungUp, sendingFirst: LoopbackServer.Reply.head(200, fields) + Data("abc".utf8))
      } body: { server in
        let task = Task {
          try await AsyncHTTPClientTransport().send(server.request(), body: nil) {
            if $0.received == 3 { arrived.open() }
          }
        }
        try await arrived.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await hungUp.wait()
      }
    }

    @Test func `a call that is cancelled before it starts sends nothing`() async throws {
      try await LoopbackServer.run { _ in
        .text("x")
      } body: { server in
        let (start, transport) = (Latch(), AsyncHTTPClientTransport())
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

    /// How one of the many exchanges is disturbed.
    private enum Moment: CaseIterable {
      case atOnce, whenTheServerHasIt, inTheBody, never
    }

    @Test func `four hundred exchanges cancelled at any moment all end`() async throws {
      let arrivals = Shared<[String: Latch]>([:])
      let ended = Shared((answers: 0, cancellations: 0))
      try await LoopbackServer.run { request in
        arrivals.value[request.target]?.open()
        return .chunked([Data("abc".utf8), Data(repeating: 7, count: 100_000)])
      } body: { server in
        let transport = AsyncHTTPClientTransport()
        try await withThrowingTaskGroup(of: Void.self) { group in
          for index in 0..<400 {
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
              if moment == .whenTheServerHasIt || moment == .inTheBody { try await arrived.wait() }
              if moment != .never { call.cancel() }
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
        #expect(ended.value.answers + ended.value.cancellations == 400)
        #expect(ended.value.answers >= 100 && ended.value.cancellations >= 100)
        #expect(try await transport.send(server.request("/after")).1.count == 100_003)
      }
    }

    private func isTimeout(_ error: any Error) -> Bool {
      if case ReactorError.timedOut = error { true } else { false }
    }
  }
#endif
