import Foundation
import ReactorCore

/// Leases that may have ended during an attempt: the process was suspended, or the clock was set.
extension Outbox {
  /// Returns a Boolean value that indicates whether an entry is stored as it was claimed.
  ///
  /// The store is asked only if the lease may have ended.
  func isStillSaved(claimed: OutboxEntry, leasedAt: Date, _ layer: LayerContext) async -> Bool {
    guard mayHaveEnded(leasedAt, layer) else { return true }
    guard let entry = await claim(claimed.id, layer) else { return false }
    if entry == claimed { return true }
    try? await configuration.storage.release(entry.id, in: scope, by: process)
    return false
  }

  /// Returns a Boolean value that indicates whether an entry is stored as it was begun.
  ///
  /// The store is asked only if the lease may have ended. If another process has changed the entry,
  /// its change is taken over.
  func isStillSaved(_ begun: OutboxEntry, leasedAt: Date, _ layer: LayerContext) async -> Bool {
    guard mayHaveEnded(leasedAt, layer) else { return true }
    let now = layer.configuration.now()
    do {
      let stored = try await configuration.storage.claim(
        begun.id, in: scope, by: process, now: now, until: now + Self.lease.inSeconds)
      guard let stored else {
        await missed(begun.id, layer)
        return false
      }
      let entry = try? OutboxEntry(decoding: stored)
      if let entry, entry.state == .sending, entry.attempts == begun.attempts { return true }
      if await claim(begun.id, layer) != nil {
        try await configuration.storage.release(begun.id, in: scope, by: process)
      }
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
