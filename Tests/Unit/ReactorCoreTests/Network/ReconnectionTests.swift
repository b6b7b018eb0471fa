import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

@Suite struct `Refreshes after a reconnection` {
  @Test func `reconnections refresh at most once in ten seconds, and no refresh is lost`() {
    var throttle = ReconnectionThrottle()
    func change(_ isReachable: Bool, _ seconds: Int) -> ReconnectionThrottle.Action {
      throttle.changed(isReachable: isReachable, at: .seconds(seconds))
    }
    #expect(change(true, 0) == .resume)
    #expect(change(false, 1) == .nothing)
    #expect(change(true, 2) == .refresh)
    #expect(change(false, 3) == .nothing)
    #expect(change(true, 4) == .refreshLater(.seconds(12)))
    #expect(change(false, 5) == .nothing)
    // One is planned.
    #expect(change(true, 6) == .resume)
    #expect(change(false, 12) == .nothing)
    #expect(change(true, 13) == .refreshLater(.seconds(22)))
    #expect(change(false, 40) == .nothing)
    #expect(change(true, 41) == .refresh)
    #expect(change(true, 42) == .resume)
  }

  @Test(.timeLimit(.minutes(1)))
  func `ten stale streams refresh seldom when connectivity returns fifty times`() async throws {
    let (transport, clock, reachability) = (ScriptedTransport(), TestClock(), Watched())
    var configuration = ReactorConfiguration()
    configuration.clock = clock
    configuration.now = clock.wallClock
    configuration.keepUnusedFor = .never
    let layer = ModelLayer(
      baseURL: Bench.url, transport: transport, reachability: reachability, configuration: configuration)
    let streams = (0..<10).map { number in
      transport.answer("/v1/\(number)", with: .json("\"x\"", fields: [.cacheControl: "no-cache"]))
      return layer.reactor(String.self).states(for: Resource("\(number)"))
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for stream in streams { group.addTask { for await _ in stream {} } }
      try await transport.waitForRequests(count: 10)
      try await reachability.isWatched.wait()
      for round in 1...50 {
        reachability.script.set(false)
        reachability.script.set(true)
        if round == 1 { try await transport.waitForRequests(count: 20) }
        clock.advance(by: .milliseconds(100))
      }
      try await clock.waitForSleepers(count: 1)
      try await transport.waitUntilIdle()
      #expect(transport.requestCount == 20)
      clock.advance(by: .seconds(10))
      try await transport.waitForRequests(count: 30)
      try await transport.waitUntilIdle()
      #expect(transport.requestCount == 30)
      group.cancelAll()
    }
  }
}

/// Says when somebody follows it.
private final class Watched: Reachability {
  let script = ScriptedReachability()
  let isWatched = Latch()

  var isReachable: Bool { script.isReachable }
  var changes: AsyncStream<Bool> {
    defer { isWatched.open() }
    return script.changes
  }
}
