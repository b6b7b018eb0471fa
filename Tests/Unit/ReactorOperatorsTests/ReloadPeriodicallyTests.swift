import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: reloading periodically")
struct ReloadPeriodicallyTests {
  let clock = TestClock()
  let conditions = ScriptedSequence<Bool>()

  private func reader(_ runs: Runs = Runs()) -> Reader<Int> {
    Reader(runs.reloadPeriodically(every: .seconds(10), while: conditions, clock: clock))
  }

  @Test func `reloading repeats every interval while the condition is true`() async throws {
    let reader = reader()
    conditions.send(true)
    for run in 1...4 {
      #expect(try await reader.next() == run)
      try await clock.waitForSleepers()
      clock.advance(by: .seconds(9))
      #expect(clock.sleeperCount == 1)
      clock.advance(by: .seconds(1))
    }
    #expect(try await reader.next() == 5)
    await reader.cancel()
    try await conditions.waitUntilEnded()
    try clock.checkNobodySleeps()
  }

  @Test func `reloading loads once without a true condition, and then no task sleeps`() async throws {
    let reader = reader()
    conditions.send(false)
    #expect(try await reader.next() == 1)
    try await conditions.waitUntilHandled()
    #expect(clock.sleeperCount == 0)
    clock.advance(by: .seconds(100))
    conditions.finish()
    #expect(try await reader.next() == nil)
    try clock.checkNobodySleeps()
  }

  @Test func `a reload that fell due while the condition was false runs once when it turns true`() async throws {
    let reader = reader()
    conditions.send(false)
    #expect(try await reader.next() == 1)
    clock.advance(by: .seconds(55))
    conditions.send(true)
    #expect(try await reader.next() == 2)
    try await clock.waitForSleepers()
    #expect(clock.nextDeadline == TestClock.Instant(elapsed: .seconds(65)))
    await reader.cancel()
    try clock.checkNobodySleeps()
  }

  @Test func `a condition that turns false in the pause stops the reload`() async throws {
    let reader = reader()
    conditions.send(true)
    #expect(try await reader.next() == 1)
    try await clock.waitForSleepers()
    conditions.send(false)
    try await conditions.waitUntilHandled()
    clock.advance(by: .seconds(10))
    conditions.finish()
    #expect(try await reader.next() == nil)
    try clock.checkNobodySleeps()
  }

  @Test func `a condition that flickers does not reload more often`() async throws {
    let reader = reader()
    conditions.send(true)
    #expect(try await reader.next() == 1)
    try await clock.waitForSleepers()
    conditions.send(false, true, false, true)
    try await conditions.waitUntilHandled()
    clock.advance(by: .seconds(9))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    #expect(try await reader.next() == 2)
    try await clock.waitForSleepers()
    #expect(clock.nextDeadline == TestClock.Instant(elapsed: .seconds(20)))
    await reader.cancel()
    try clock.checkNobodySleeps()
  }

  @Test func `a run that takes longer than the interval is not overlapped, and is followed by one`() async throws {
    let gate = Gate()
    let reader = reader(Runs(heldAt: gate))
    conditions.send(true)
    try await conditions.waitUntilHandled()
    #expect(try await reader.next() == 1)
    try await gate.waitForArrival()
    clock.advance(by: .seconds(35))
    #expect(clock.sleeperCount == 0)
    gate.open()
    #expect(try await reader.next() == 2)
    try await clock.waitForSleepers()
    #expect(clock.nextDeadline == TestClock.Instant(elapsed: .seconds(45)))
    await reader.cancel()
    try clock.checkNobodySleeps()
  }

  @Test func `a condition that has ended stays what it was`() async throws {
    let reader = reader()
    conditions.send(true)
    conditions.finish()
    #expect(try await reader.next() == 1)
    try await clock.waitForSleepers()
    clock.advance(by: .seconds(10))
    #expect(try await reader.next() == 2)
    await reader.cancel()
    #expect(try await reader.next() == nil)
    try clock.checkNobodySleeps()
  }

  @Test func `an invalid interval loads once`() async throws {
    // No argument of the test: the largest duration has no description.
    for interval in [.zero, .seconds(-1), .zero - .never, .never, Duration(attoseconds: .max)] {
      let conditions = ScriptedSequence<Bool>()
      conditions.send(true)
      let runs = try await Runs().reloadPeriodically(every: interval, while: conditions, clock: clock).collect()
      #expect(runs == [1])
    }
    try clock.checkNobodySleeps()
  }

  @Test func `a run that fails ends it, unless the failure is a state`() async throws {
    conditions.send(true)
    let failing = reader(Runs(failing: 1))
    await #expect(throws: Broken.self) { try await failing.next() }
    let others = ScriptedSequence<Bool>()
    others.send(true)
    let states = Reader(
      Runs(failing: 1).ignoringErrors(replacement: 0)
        .reloadPeriodically(every: .seconds(10), while: others, clock: clock))
    #expect(try await states.next() == 0)
    try await clock.waitForSleepers()
    clock.advance(by: .seconds(10))
    #expect(try await states.next() == 2)
    await states.cancel()
    try clock.checkNobodySleeps()
  }
}
