import Foundation
import Synchronization

/// The report of a fetch to an instrument.
extension ReactorEngine {
  func isInMemory(_ waiter: FlightMachine.Waiter, _ key: RecordKey) -> Bool {
    let now = now
    return state.withLock { $0.isInMemory(waiter, key, at: now) }
  }

  func result(
    _ outcome: KeyState.Outcome, _ entered: EngineState.Entered?, of resource: Resource
  ) -> ModelLayer.InstrumentedFetch.Result {
    let copy = try? outcome.get().copy
    let isFresh = copy.map { reader.rule.status(of: $0, for: resource, at: now)?.isFresh == true } ?? false
    let source = entered.map { $0.flight.source(isFresh: isFresh) } ?? (isFresh ? .memory : .standIn)
    let error: ReactorError? = if case .failure(let error) = outcome { error } else { nil }
    return ModelLayer.InstrumentedFetch.Result(
      source: copy == nil ? nil : source, isFresh: isFresh, error: error, flight: entered?.flight,
      hasJoined: entered?.hasJoined == true)
  }
}

extension EngineState {
  /// Returns `true` if memory answers a caller, as ``enter(_:_:_:_:at:_:)`` would.
  func isInMemory(_ waiter: FlightMachine.Waiter, _ key: RecordKey, at now: Date) -> Bool {
    guard let entry = memory.entries[key] else { return false }
    switch decision(waiter, entry.copy, at: now) {
    case .use, .useAndRevalidate: return true
    case .ask, .notCached: return false
    }
  }
}
