import Foundation
import ReactorCore

/// Leases of entries. A lease may expire during an attempt, if the process was suspended or the
/// clock was set.
extension Outbox {
  /// An entry that this process has leased.
  struct Claimed: Sendable {
    var entry: OutboxEntry
    /// The entry as it was stored then. A change is saved only if the store still has exactly this:
    /// the lease may have expired while the process slept.
    var stored: StoredEntry
  }

  /// Leases an entry, and returns it as it is stored; `nil` if it cannot be sent now.
  func claim(_ id: UUID, _ layer: LayerContext) async -> Claimed? {
    let now = layer.configuration.now()
    guard let stored = await leased(id, at: now, layer) else { return nil }
    guard var entry = try? OutboxEntry(decoding: stored) else {
      setAside(stored, "it was changed by another process, and cannot be read", layer)
      return nil
    }
    entry.abandon()
    if let error = await catchUp(with: entry, layer) {
      await release(id)
      postpone(id, after: error, layer)
      return nil
    }
    // It may have been saved before the entry that supplied its id was accepted.
    entry = entry.rewritten(by: withState(\.identities)) ?? entry
    if !entry.isInLane {
      await release(id)
      await endedElsewhere(entry, layer)
      return nil
    }
    let (old, mayGo) = withState { state -> (OutboxEntry?, Bool) in
      let old = state.queue.entries[id]
      state.update(entry)
      // A withdrawal has not known that another process has sent it.
      if !entry.isUnsent { state.items[id]?.isWithdrawn = false }
      // Another process's attempt failed; respect its backoff.
      let isPostponed = old?.outcome != entry.outcome && entry.notBefore.map { $0 > now } == true
      return (old, !isPostponed && state.queue.mayGo(id))
    }
    if let old { showChange(of: entry, from: old, layer) }
    guard !mayGo else { return Claimed(entry: entry, stored: stored) }
    await release(id)
    return nil
  }

  private func leased(_ id: UUID, at now: Date, _ layer: LayerContext) async -> StoredEntry? {
    do {
      let stored = try await configuration.storage.claim(
        id, in: scope, by: process, now: now, until: now + Self.lease.inSeconds)
      if let stored { return stored }
      await missed(id, layer)
    } catch {
      postpone(id, after: .persistence(error), layer)
    }
    return nil
  }

  /// Releases a lease. If that fails, the lease expires by itself.
  func release(_ id: UUID) async {
    do { try await configuration.storage.release(id, in: scope, by: process) } catch {
      if let layer { emit(id, key: nil, .storeFailed(.persistence(error)), layer) }
    }
  }

  /// Takes over what other processes have done with an entry that was just leased.
  ///
  /// - Returns: the error of the store.
  private func catchUp(with entry: OutboxEntry, _ layer: LayerContext) async -> ReactorError? {
    guard let old = withState({ $0.queue.entries[entry.id] }) else { return nil }
    if old.arguments != entry.arguments { await learnFromStore(layer) }
    guard old.number != entry.number else { return nil }
    // Another process retried it, and moved the entries that wait for its ids behind it.
    do { try await readStore() } catch { return error }
    return nil
  }

  /// Takes over the ids that are stored with the outcome of an entry, which is not published yet or
  /// was another process's. All entries that contain them change at once.
  private func learnFromStore(_ layer: LayerContext) async {
    let epoch = withState(\.epoch)
    guard let contents = try? await configuration.storage.contents(of: scope), withState({ $0.isCurrent(epoch) })
    else { return }
    learn(contents.identities, layer)
  }

  /// Renews the lease while the entry is being sent.
  func renewLease(of id: UUID, _ layer: LayerContext) async {
    while !Task.isCancelled {
      do { try await layer.configuration.clock.sleep(for: Self.lease / 3) } catch { return }
      let now = layer.configuration.now()
      _ = try? await configuration.storage.claim(
        id, in: scope, by: process, now: now, until: now + Self.lease.inSeconds)
    }
  }

  /// An entry that this process is about to send, as found in the store.
  enum Begun: Sendable {
    case isStored
    /// Another process has changed it, which is taken over.
    case isTakenOver
    /// The store has failed.
    case isUnknown
  }

  /// Reads an entry that is about to be sent, but only if its lease may have expired.
  func lookUp(begun: StoredEntry, leasedAt: Date, _ layer: LayerContext) async -> Begun {
    guard mayHaveEnded(leasedAt, layer) else { return .isStored }
    let now = layer.configuration.now()
    do {
      let stored = try await configuration.storage.claim(
        begun.id, in: scope, by: process, now: now, until: now + Self.lease.inSeconds)
      guard let stored else {
        await missed(begun.id, layer)
        return .isTakenOver
      }
      if stored.bytes == begun.bytes { return .isStored }
      await takeOver(begun.id, layer)
      return .isTakenOver
    } catch {
      postpone(begun.id, after: .persistence(error), layer)
      return .isUnknown
    }
  }

  private func mayHaveEnded(_ leasedAt: Date, _ layer: LayerContext) -> Bool {
    let age = layer.configuration.now().timeIntervalSince(leasedAt)
    return age < 0 || age > Self.lease.inSeconds / 2
  }
}

extension OutboxLease {
  /// Returns the time of the next check whether another process has finished the entry, at the
  /// latest when its lease expires.
  func look(after now: Date) -> Date { min(now + Outbox.poll.inSeconds, max(until, now + 0.01)) }
}
