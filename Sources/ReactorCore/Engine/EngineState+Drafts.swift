import Foundation

extension EngineState {
  /// Shows, accepts or removes drafts over the copies of their keys. The states of each key have
  /// all of the changes or none.
  mutating func drafted(_ changes: [DraftChange]) {
    var changed: [Entry] = []
    for change in changes {
      guard let entry = redraw(change), !changed.contains(where: { $0 === entry }) else { continue }
      changed.append(entry)
    }
    for entry in changed {
      memory.publish(entry)
      publishChanges(of: entry)
    }
  }

  /// - Returns: The entry of the draft's key, if it has changed.
  private mutating func redraw(_ change: DraftChange) -> Entry? {
    let draft = change.draft
    guard draft.model == model, let entry = memory.entries[draft.key] else { return nil }
    if entry.drafts == nil {
      switch change {
      case .added, .replaced: break
      case .accepted, .removed: return nil
      }
      // The copy already contains the layer's accepted drafts that are missing here.
      entry.begin(with: [draft], entities)
    } else {
      entry.redraw { drafts in
        switch change {
        case .added: drafts.add(draft, over: entry.copy)
        case .accepted: drafts.accept(draft, over: entry.copy)
        case .removed: drafts.remove(draft, over: entry.copy)
        case .replaced(let old, _): drafts.replace(old, by: draft, over: entry.copy)
        }
      }
    }
    // Without a base, the value that a draft makes is the only one there is.
    if case .added = change, entry.copy == nil { entry.showToAll() }
    return entry
  }

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
      layer.sendings.admits(entry.key, hasCaller: flight.machine.hasCaller)
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
      if flight.pass == nil { flight.pass = layer.sendings.pass(for: entry.key) }
    } else if flight.held != nil || isPaused, let pass = flight.pass.take() {
      effects.append(.release([pass]))
    }
  }

  /// Returns `true` if `step` must wait for a write of its key.
  func holds(_ step: FlightStep, _ flight: Flight) -> Bool {
    guard case .request = step.step else { return false }
    return !layer.sendings.admits(step.key, hasCaller: flight.machine.hasCaller)
  }
}
