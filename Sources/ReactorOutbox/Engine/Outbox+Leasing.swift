import Foundation
import ReactorCore

/// Leases that may have ended during an attempt: the process was suspended, or the clock was set.
extension Outbox {
  /// Returns a Boolean value that indicates whether an entry is stored as it was begun.
  ///
  /// The store is asked only if the lease may have ended. If another process has changed the entry,
  /// its change is taken over.
  func isStillSaved(_ begun: StoredEntry, leasedAt: Date, _ layer: LayerContext) async -> Bool {
    guard mayHaveEnded(leasedAt, layer) else { return true }
    let now = layer.configuration.now()
    do {
      let stored = try await configuration.storage.claim(
        begun.id, in: scope, by: process, now: now, until: now + Self.lease.inSeconds)
      guard let stored else {
        await missed(begun.id, layer)
        return false
      }
      if stored.bytes == begun.bytes { return true }
      await takeOver(begun.id, layer)
    } catch {
      postpone(begun.id, after: .persistence(error), layer)
    }
    return false
  }

  private func mayHaveEnded(_ leasedAt: Date, _ layer: LayerContext) -> Bool {
    let age = layer.configuration.now().timeIntervalSince(leasedAt)
    return age < 0 || age > Self.lease.inSeconds / 2
  }
}
