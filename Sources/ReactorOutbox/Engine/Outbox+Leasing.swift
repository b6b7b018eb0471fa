import Foundation
import ReactorCore

/// Leases of entries. One may end during an attempt: the process was suspended, or the clock was
/// set.
extension Outbox {
  /// An entry that this process has a lease of.
  struct Claimed: Sendable {
    var entry: OutboxEntry
    /// The entry as it was stored then. Whoever saves a change of it requires that it still is: a
    /// lease ends by time, and the process may have slept.
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
    // It was perhaps saved before its giver was.
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

  /// Gives a lease back. One that cannot be given back ends by time.
  func release(_ id: UUID) async {
    do { try await configuration.storage.release(id, in: scope, by: process) } catch {
      if let layer { emit(id, key: nil, .storeFailed(.persistence(error)), layer) }
    }
  }

  /// Learns what others have done with an entry that was leased.
  ///
  /// - Returns: the error of the store.
  private func catchUp(with entry: OutboxEntry, _ layer: LayerContext) async -> ReactorError? {
    guard let old = withState({ $0.queue.entries[entry.id] }) else { return nil }
    if old.arguments != entry.arguments { await learnFromStore(layer) }
    guard old.number != entry.number else { return nil }
    // Another process has sent it again, and moved those that wait for its ids with it.
    do { try await readStore() } catch { return error }
    return nil
  }

  /// Learns the ids that are stored with the end of an entry, which is not shown yet or is another
  /// process's: all entries that have them change at once.
  private func learnFromStore(_ layer: LayerContext) async {
    let epoch = withState(\.epoch)
    guard let contents = try? await configuration.storage.contents(of: scope), withState({ $0.isCurrent(epoch) })
    else { return }
    learn(contents.identities, layer)
  }

  /// Keeps the lease while the entry is sent.
  func renewLease(of id: UUID, _ layer: LayerContext) async {
    while !Task.isCancelled {
      do { try await layer.configuration.clock.sleep(for: Self.lease / 3) } catch { return }
      let now = layer.configuration.now()
      _ = try? await configuration.storage.claim(
        id, in: scope, by: process, now: now, until: now + Self.lease.inSeconds)
    }
  }

  /// An entry that this process has begun, as it is found in the store before it is sent.
  enum Begun: Sendable {
    case isStored
    /// Another process has changed it, which is taken over.
    case isTakenOver
    /// The store has failed.
    case isUnknown
  }

  /// Returns how the store has an entry that was begun. It is asked only if the lease may have
  /// ended.
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
  /// Returns the time to look again whether another process has ended the entry: at the latest when
  /// the lease ends.
  func look(after now: Date) -> Date { min(now + Outbox.poll.inSeconds, max(until, now + 0.01)) }
}
