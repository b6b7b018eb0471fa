import Foundation
import Synchronization

extension ReactorEngine {
  var keys: [RecordKey] { state.withLock { Array($0.memory.entries.keys) } }

  func statuses(of keys: [RecordKey]) -> [KeyStatus] {
    let now = now
    var statuses: [KeyStatus] = []
    for start in stride(from: 0, to: keys.count, by: Self.statusBatch) {
      let batch = keys[start..<min(start + Self.statusBatch, keys.count)]
      // Some at a time, so that nobody waits long for the lock.
      statuses += state.withLock { state in
        batch.compactMap { key in state.memory.entries[key].map { status(of: $0, at: now) } }
      }
    }
    return statuses
  }

  private static var statusBatch: Int { 128 }

  private func status(of entry: Entry, at now: Date) -> KeyStatus {
    let standing = entry.use.aliases.last.flatMap { self.standing(entry.copy, for: $0, at: now) }
    let condition: KeyStatus.Condition =
      switch (entry.copy, standing) {
      case (nil, _): entry.error == nil ? .absent : .failed
      case (_, let standing?) where standing.isFresh: .fresh
      case (_, let standing): standing?.isInvalid == true ? .invalidated : .stale
      }
    return KeyStatus(
      key: entry.key, model: name, condition: condition, origin: entry.copy?.origin,
      fetchedAt: entry.copy?.fetchedAt, age: standing?.age, lifetime: standing?.lifetime, bytes: entry.cost,
      observers: entry.subscribers.count, waiters: entry.waiters.count, phase: entry.flight?.machine.phase,
      error: entry.error)
  }

  func refetch(_ key: RecordKey) -> Bool {
    let now = now
    return transact { state, effects in
      guard let entry = state.memory.entries[key], let resource = entry.use.aliases.last else { return false }
      guard entry.flight?.machine.hasLayer != true else { return true }
      let layer = Flight.Party(id: Flight.layer, kind: .layer, resource: resource, policy: .networkOnly)
      join(layer, entry, at: now, &state, &effects)
      settle(entry, &state, &effects)
      return true
    }
  }

  func wentOnline() { reconnected(refreshes: true) }
}
