import Foundation

/// A resource that the server no longer has: 404 and 410.
extension ReactorEngine {
  /// Returns `true` if `error` removes the stored value.
  func removesValue(_ error: ReactorError) -> Bool { error.isGone && flow.configuration.removesGoneValues }

  /// Removes the value of a resource from disk and memory, unless something newer is there, and
  /// resolves the waiters with the error.
  func fail(_ step: FlightStep, gone error: ReactorError) async {
    do {
      if flow.isPersistent { try await layer.budget.within(step.key) { try await self.removeFromDisk(step) } }
    } catch {
      append(step.key, .saveFailed(ReactorError(error, wrap: ReactorError.persistence)))
      layer.events.deliver()
    }
    let now = now
    guard update({ $0.failed(step, gone: error, at: now) }) else { return }
    layer.presentation?.didReplace(step.key, step.ticket.number, of: nil, isOnDisk: false)
    layer.announce(.gone(step.key, step.ticket.number, step.resource, error), except: self)
  }

  private func removeFromDisk(_ step: FlightStep) async throws {
    try await layer.gate.with(step.key) {
      guard step.ticket.commit(), try await flow.holdsAnswer(step.resource), step.ticket.commit() else { return }
      try await flow.removeFromPersistence(step.resource)
      step.ticket.didPersist()
    }
  }
}

extension EngineState {
  /// Processes the failure of a request whose resource the server does not have.
  ///
  /// - Returns: `true` if nothing newer is known. Other reactors then forget their values too.
  mutating func failed(_ step: FlightStep, gone error: ReactorError, at now: Date) -> Bool {
    guard let entry = entry(of: step) else { return false }
    let isNewest = step.ticket.commit()
    if isNewest {
      entry.flight?.foundNothing = true
      forget(entry, gone: step.resource, under: step.ticket.number)
      entry.invalidatedBefore = nil
    }
    failed(step, error, wasSent: true, at: now)
    return isNewest
  }

  /// Forgets the value of a key that another reactor has not found, or that the server has told to
  /// be gone.
  mutating func forgetGone(_ key: RecordKey, under number: Generation, _ resource: Resource?, _ error: ReactorError) {
    guard let entry = memory.entries[key] else { return }
    guard forget(entry, gone: resource, under: number) else { return }
    entry.error = error
    publishChanges(of: entry)
  }

  /// Forgets the value of `entry`, and the changes over it that were accepted before.
  ///
  /// - Returns: `false` if the value is newer, local, or another variant.
  @discardableResult
  private mutating func forget(_ entry: Entry, gone resource: Resource?, under number: Generation) -> Bool {
    let copy = entry.copy
    if let copy, copy.origin == .local || copy.generation > number || resource.map(copy.isAnotherVariant) == true {
      return false
    }
    if copy != nil { setCopy(nil, of: entry) }
    entry.clearOutdated()
    entry.redraw { $0.rebase(onLoaded: nil, from: number, isLatest: false) }
    return copy != nil
  }
}
