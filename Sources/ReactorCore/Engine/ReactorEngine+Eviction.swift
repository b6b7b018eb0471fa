import Foundation

extension ReactorEngine {
  /// Sees to it that what is unused leaves memory in time: one task sleeps until the next is due.
  func scheduleSweep(_ state: inout State, _ effects: inout [Effect]) {
    guard state.sweeper == nil, flow.configuration.keepUnusedFor < .never, !state.memory.entries.isEmpty else { return }
    let sweeper = FlightTask(priority: nil)
    state.sweeper = sweeper
    effects.append(.sweep(sweeper))
  }

  func startSweeping(_ sweeper: FlightTask) {
    let clock = flow.configuration.clock
    let first = flow.configuration.keepUnusedFor
    sweeper.attach(
      spawnApart(on: flow.configuration.taskExecutor, priority: .background) { [weak self] in
        var wait: Duration? = first
        while let duration = wait {
          do { try await clock.sleep(for: min(duration, Self.longest)) } catch { return }
          wait = self?.sweep()
        }
      })
  }

  /// Evicts what is due; gives how long to wait for the next, `nil` where there is nothing to wait for.
  private func sweep() -> Duration? {
    let time = elapsed()
    return transact { state, effects in
      let (gone, next) = state.memory.sweep(at: time)
      for key in gone { append(key, .evicted) }
      // With nothing to wait for, or only what is observed: the next change of an entry begins anew.
      if next == nil { state.sweeper = nil }
      return next.map { max($0 - time, .milliseconds(1)) }
    }
  }
}
