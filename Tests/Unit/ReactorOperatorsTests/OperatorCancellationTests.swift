import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: cancellation")
struct OperatorCancellationTests {
  /// Reads one element of what `operation` makes of an endless sequence, cancels, and waits for the
  /// end of the latter.
  private func endsItsBase<Result: AsyncSequence & Sendable>(
    _ operation: (ScriptedSequence<Int>) -> Result
  ) async throws where Result.Element: Sendable {
    let base = ScriptedSequence<Int>()
    base.send(1)
    let reader = Reader(operation(base))
    _ = try await reader.next()
    try await base.waitUntilHandled()
    #expect(!base.hasEnded)
    await reader.cancel()
    try await base.waitUntilEnded()
  }

  @Test func `start with`() async throws {
    try await endsItsBase { $0.startWith(0) }
    try await endsItsBase { $0.startWithNil() }
  }

  @Test func `load states, with and without the last good value`() async throws {
    try await endsItsBase { $0.loadStates() }
    try await endsItsBase { $0.loadStates().ignoringLoadingAndFailuresAfterSuccess() }
  }

  @Test func `errors that are ignored or made`() async throws {
    try await endsItsBase { $0.ignoringErrors(replacement: 0) }
    let generator = SeededGenerator(seed: 1)
    try await endsItsBase { $0.failRandomly(with: Broken(), probability: 0, using: generator) }
  }

  @Test func `runs that repeat, with what repeats them`() async throws {
    let clock = TestClock()
    let triggers = ScriptedSequence<Void>()
    try await endsItsBase { $0.repeated(on: triggers, clock: clock) }
    try await triggers.waitUntilEnded()
    let conditions = ScriptedSequence<Bool>()
    conditions.send(true)
    try await endsItsBase { $0.reloadPeriodically(every: .seconds(1), while: conditions, clock: clock) }
    try await conditions.waitUntilEnded()
    try clock.checkNobodySleeps()
  }
}
