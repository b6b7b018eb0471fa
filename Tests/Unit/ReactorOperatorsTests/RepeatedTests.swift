import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: repeated on a trigger")
struct RepeatedTests {
  let clock = TestClock()
  let triggers = ScriptedSequence<Void>()

  @Test func `a repeated sequence runs at once and at each trigger, and no task sleeps between`() async throws {
    let reader = Reader(Runs().repeated(on: triggers, clock: clock))
    for run in 1...3 {
      #expect(try await reader.next() == run)
      #expect(clock.sleeperCount == 0)
      triggers.send(())
    }
    #expect(try await reader.next() == 4)
    triggers.finish()
    #expect(try await reader.next() == nil)
    try clock.checkNobodySleeps()
  }

  @Test func `triggers within the throttle are one run when it is over`() async throws {
    let reader = Reader(Runs().repeated(on: triggers, throttle: .seconds(10), clock: clock))
    #expect(try await reader.next() == 1)
    triggers.send((), (), ())
    try await triggers.waitUntilHandled()
    try await clock.waitForSleepers()
    #expect(clock.nextDeadline == TestClock.Instant(elapsed: .seconds(10)))
    clock.advance(by: .seconds(9))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    #expect(try await reader.next() == 2)
    triggers.finish()
    #expect(try await reader.next() == nil)
    try clock.checkNobodySleeps()
  }

  @Test func `a trigger after the throttle runs at once, and a clock that jumps far runs once`() async throws {
    let reader = Reader(Runs().repeated(on: triggers, throttle: .seconds(10), clock: clock))
    #expect(try await reader.next() == 1)
    clock.advance(by: .seconds(1_000))
    triggers.send(())
    #expect(try await reader.next() == 2)
    triggers.finish()
    #expect(try await reader.next() == nil)
    try clock.checkNobodySleeps()
  }

  @Test func `a trigger during a run leads to one more run after it`() async throws {
    let gate = Gate()
    let reader = Reader(Runs(heldAt: gate).repeated(on: triggers, clock: clock))
    #expect(try await reader.next() == 1)
    triggers.send((), ())
    try await triggers.waitUntilHandled()
    try await gate.waitForArrival()
    triggers.finish()
    gate.open()
    #expect(try await reader.next() == 2)
    #expect(try await reader.next() == nil)
    try clock.checkNobodySleeps()
  }

  @Test func `a run that fails is the last`() async throws {
    let reader = Reader(Runs(failing: 2).repeated(on: triggers, clock: clock))
    #expect(try await reader.next() == 1)
    triggers.send((), ())
    await #expect(throws: Broken.self) { try await reader.next() }
    try await triggers.waitUntilEnded()
    try clock.checkNobodySleeps()
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .zero - .never])
  func `a throttle of zero or less holds nothing back`(throttle: Duration) async throws {
    let reader = Reader(Runs().repeated(on: triggers, throttle: throttle, clock: clock))
    #expect(try await reader.next() == 1)
    triggers.send(())
    #expect(try await reader.next() == 2)
    await reader.cancel()
    try await triggers.waitUntilEnded()
    try clock.checkNobodySleeps()
  }

  @Test func `a throttle without an end runs once`() async throws {
    // No argument of the test: the largest duration has no description.
    for throttle in [Duration.never, Duration(attoseconds: .max)] {
      let runs = try await Runs().repeated(on: ScriptedSequence<Void>(), throttle: throttle, clock: clock).collect()
      #expect(runs == [1])
    }
    try clock.checkNobodySleeps()
  }

  @Test func `the largest throttle that ends traps no clock`() async throws {
    let longest = Duration.seconds(Int64.max) - .seconds(1)
    for clock in [ContinuousClock(), SuspendingClock()] as [any Clock<Duration>] {
      let triggers = ScriptedSequence<Void>()
      let reader = Reader(Runs().repeated(on: triggers, throttle: longest, clock: clock))
      #expect(try await reader.next() == 1)
      triggers.send(())
      try await triggers.waitUntilHandled()
      await reader.cancel()
      #expect(try await reader.next() == nil)
      try await triggers.waitUntilEnded()
    }
  }

  @Test func `cancelled in the throttle, it ends at once and leaves the triggers`() async throws {
    let reader = Reader(Runs().repeated(on: triggers, throttle: .seconds(10), clock: clock))
    #expect(try await reader.next() == 1)
    triggers.send(())
    try await clock.waitForSleepers()
    await reader.cancel()
    #expect(try await reader.next() == nil)
    try await triggers.waitUntilEnded()
    try clock.checkNobodySleeps()
  }

  /// Sends between the creation of the iterator and the first job of any task. A sequence that
  /// subscribes when it is iterated, and buffers nothing, shows whether it was iterated at once.
  @Test func `triggers are followed from the making of the iterator on`() async throws {
    struct Subscribed: AsyncSequence, Sendable {
      let subscriptions = Shared(0)
      func makeAsyncIterator() -> AsyncStream<Void>.Iterator {
        subscriptions.change { $0 += 1 }
        return AsyncStream<Void> { $0.finish() }.makeAsyncIterator()
      }
    }
    let triggers = Subscribed()
    var iterator = Runs().repeated(on: triggers, clock: clock).makeAsyncIterator()
    #expect(triggers.subscriptions.value == 1)
    #expect(try await iterator.next(isolation: nil) == 1)
  }

  @Test func `triggers that ignore cancellation are released with the sequence`() async throws {
    final class Token: Sendable {
      let left = Latch()
      deinit { left.open() }
    }
    struct Unheeding: AsyncSequence, AsyncIteratorProtocol, Sendable {
      let token = Token()
      func makeAsyncIterator() -> Self { self }
      mutating func next(isolation actor: isolated (any Actor)?) async -> Void? {
        await Task.yield()
        return ()
      }
    }
    let left: Latch
    do {
      let triggers = Unheeding()
      left = triggers.token.left
      var iterator = Runs().repeated(on: triggers, throttle: .seconds(10), clock: clock).makeAsyncIterator()
      _ = try await iterator.next(isolation: nil)
    }
    try await left.wait()
  }
}
