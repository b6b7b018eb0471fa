import Foundation
import ReactorCore

/// The entries that other processes have added, sent or finished since the store was read.
extension Outbox {
  func readStore() async throws(ReactorError) {
    guard let layer else { return }
    if try await waitedForReading() { return }
    // Changes here during the read are newer than what is read.
    let (before, epoch, start, mark) = withState {
      ($0.queue.entries, $0.epoch, $0.removed.begin(), $0.savedBefore)
    }
    defer { withState { $0.removed.end() } }
    do {
      let contents = try await configuration.storage.contents(of: scope)
      // Entries that `removeAll` is removing were not finished by another process.
      guard withState({ $0.isCurrent(epoch) }) else { return }
      if try await savedAgain(in: contents, layer) { return try await readStore() }
      // Until the places of all entries are known, no entry overtakes an entry that was moved.
      withState { state in
        state.takeovers += 1
        state.noteRead(contents, since: mark)
      }
      await takeOver(contents, changedSince: before, layer)
      if withState({ $0.epoch == epoch }) { await restore(contents, since: start, layer) }
      withState { $0.takeovers -= 1 }
    } catch let error as ReactorError {
      // It is reported already.
      throw error
    } catch {
      emit(nil, .storeFailed(.persistence(error)), layer)
      throw .persistence(error)
    }
    withState { if case .failed = $0.reading { $0.reading = .read } }
    changed()
    pump()
  }

  /// Takes over the stored state of known entries.
  private func takeOver(
    _ contents: OutboxContents, changedSince before: [UUID: OutboxEntry], _ layer: LayerContext
  ) async {
    // Done first, and in all entries at once. It does not count as a change of an entry.
    learn(contents.identities, layer)
    let known = withState { state in
      before.mapValues { old in
        guard let new = old.rewritten(by: state.identities), state.queue.entries[old.id] == new else { return old }
        return new
      }
    }
    await forget(known, absentFrom: contents, layer)
    let types = mutationTypes
    for stored in contents.entries {
      guard let old = known[stored.id], withState({ $0.isUnchanged(old) }),
        case .readable(let entry, _) = Restored(stored, types, withState(\.identities))
      else { continue }
      await takeOver(entry, old, contents, layer)
    }
  }

  /// Reads the entries that other processes may have added before an entry of this process whose
  /// turn it is. The lane then chooses the next entry again. A store that fails is read again after
  /// a while.
  ///
  /// A successful read covers every number that was saved before it started. So an entry causes at
  /// most one read, unless everything is removed meanwhile.
  func readOthers(before id: UUID, _ layer: LayerContext) async {
    if let gap = withState({ $0.gap(before: id) }) {
      // A store that fails is read, which reports it.
      let isEmpty =
        (try? await configuration.storage.mayHaveEntries(in: scope, after: gap.after, before: gap.before)) == false
      if isEmpty { return withState { $0.noteEmpty(gap) } }
    }
    do { try await readStore() } catch {
      let now = layer.configuration.now()
      withState { $0.queue.deferLease(id, until: now + Self.storePause.inSeconds) }
    }
  }

  /// Waits for the read in progress, if any.
  ///
  /// - Returns: `true` if the store was read meanwhile.
  /// - Throws: the error of that read.
  private func waitedForReading() async throws(ReactorError) -> Bool {
    guard !withState(\.isReady) else { return false }
    await ready()
    if case .failed(let error) = withState(\.reading) { throw error }
    return true
  }

  /// Forgets the entries that other processes have removed.
  private func forget(_ known: [UUID: OutboxEntry], absentFrom contents: OutboxContents, _ layer: LayerContext) async {
    let stored = Set(contents.entries.map(\.id))
    withState { state in
      for id in state.unreadable.keys where !stored.contains(id) {
        state.unreadable[id] = nil
        state.queue.identities.forget(id)
      }
    }
    for entry in known.values.filter({ !stored.contains($0.id) }).sorted(by: { $0.number < $1.number }) {
      guard withState({ $0.isUnchanged(entry) }) else { continue }
      await goneElsewhere(entry.id, contents.identities, layer)
    }
  }

  /// Takes over the state of an entry that another process has changed.
  private func takeOver(
    _ stored: OutboxEntry, _ old: OutboxEntry, _ contents: OutboxContents, _ layer: LayerContext
  ) async {
    var entry = stored
    let now = layer.configuration.now()
    let lease = contents.lease(of: entry.id, at: now, except: process)
    if lease == nil { entry.abandon() }
    switch (old.isInLane, entry.isInLane) {
    case (true, false): return await endedElsewhere(entry, contents.identities, layer)
    // It was retried there, and ``restore(_:since:)`` shows it again.
    case (false, true):
      withState { state in
        state.remove(entry.id)
        state.removed.forget(entry.id)
      }
    case (true, true), (false, false):
      withState { state in
        state.update(entry)
        if let lease { state.queue.deferLease(entry.id, until: lease.look(after: now)) }
      }
      showChange(of: entry, from: old, layer)
    }
  }
}

extension OutboxState {
  /// Returns `true` if an entry is unchanged and no command or attempt is working on it.
  fileprivate func isUnchanged(_ entry: OutboxEntry) -> Bool {
    !queue.active.contains(entry.id) && queue.entries[entry.id] == entry
  }
}
