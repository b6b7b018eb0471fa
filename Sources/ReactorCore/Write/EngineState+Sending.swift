import Foundation

/// Requests and writes of one key, which do not overlap.
extension EngineState {
  /// Holds the requests for `key` while a write of it is being sent. A request under way begins
  /// again after the write.
  mutating func sendingBegan(_ key: RecordKey, at now: Date) {
    guard let entry = memory.entries[key], let flight = entry.flight else { return }
    if flight.held == nil, flight.machine.phase == .requesting { restart(entry, because: .change, at: now) }
    entry.flight?.isOwed = true
    publishChanges(of: entry)
  }

  /// Begins the request that a write has held.
  mutating func sendingEnded(_ key: RecordKey) {
    guard let entry = memory.entries[key], entry.flight != nil else { return }
    release(entry)
    publishChanges(of: entry)
  }

  /// Starts the held request of `entry` if nothing blocks it any more.
  mutating func release(_ entry: Entry) {
    guard let flight = entry.flight, let held = flight.held,
      layer.presentation?.admits(entry.key, hasCaller: flight.machine.hasCaller) ?? true
    else { return }
    flight.held = nil
    effects.append(.start(held))
  }

  /// Gives the flight a pass if a caller waits for it and it has met a write. Without a caller, a
  /// request gives it back if it has not begun or waits for connectivity.
  mutating func updatePass(of entry: Entry) {
    guard let flight = entry.flight, flight.isOwed else { return }
    let isPaused = flight.machine.isPaused
    if flight.machine.hasCaller, !isPaused {
      if flight.pass == nil { flight.pass = layer.presentation?.pass(for: entry.key) }
    } else if flight.held != nil || isPaused, let pass = flight.pass.take() {
      effects.append(.release([pass]))
    }
  }

  /// Returns `true` if `step` must wait for a write of its key.
  func holds(_ step: FlightStep, _ flight: Flight) -> Bool {
    guard case .request = step.step, let presentation = layer.presentation else { return false }
    return !presentation.admits(step.key, hasCaller: flight.machine.hasCaller)
  }
}
