import Foundation
import HTTPCaching
package import ReactorCore
import ReactorWrites

/// The entries that an earlier process has left, and the removal of everything.
extension Outbox: LayerPart {
  package var isReady: Bool { withState(\.isReady) }

  package func ready() async {
    await withCheckedContinuation { continuation in
      let isReady = withState { state in
        if !state.isReady { state.readyWaiters.append(continuation) }
        return state.isReady
      }
      if isReady { continuation.resume() }
    }
  }

  /// Starts reading the store, unless that was done or is in progress.
  func read() {
    guard let layer else { return }
    enum Step { case none, read, readAgain }
    let step = withState { state -> Step in
      switch state.reading {
      case .read, .reading: return .none
      case .unread:
        state.reading = .reading
        return .read
      // A failure leaves flights free, and so does the next attempt. Meanwhile other processes may
      // have changed what was submitted here.
      case .failed: return .readAgain
      }
    }
    guard step != .none else { return pump() }
    _ = spawnApart(on: layer.configuration.taskExecutor) { [weak self] in
      guard step == .readAgain else { return await self?.reading(layer) ?? () }
      if (try? await self?.readStore()) == nil { self?.pump() }
    }
  }

  private func reading(_ layer: LayerContext) async {
    let start = withState { $0.removed.begin() }
    defer { withState { $0.removed.end() } }
    do {
      var (contents, epoch, mark) = (OutboxContents(), -1, UInt64(0))
      // Read once more if everything was removed meanwhile.
      while withState({ $0.epoch != epoch }) {
        (epoch, mark) = withState { ($0.epoch, $0.savedBefore) }
        contents = try await configuration.storage.contents(of: scope)
      }
      withState { [mark, contents] in $0.noteRead(contents, since: mark) }
      await restore(contents, since: start, layer)
      finishReading(.read)
    } catch {
      emit(nil, .storeFailed(.persistence(error)), layer)
      finishReading(.failed(.persistence(error)))
    }
    changed()
    pump()
  }

  private func finishReading(_ reading: OutboxState.Reading) {
    let waiters = withState { state in
      state.reading = reading
      defer { state.readyWaiters = [] }
      return state.readyWaiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Adds the entries of the store that are not known yet, and shows their drafts.
  ///
  /// - Parameter start: The start of the read. Entries that were removed here since are not added.
  func restore(_ contents: OutboxContents, since start: RecentRemovals.Start, _ layer: LayerContext) async {
    let reported = withState { state in
      defer { state.setAside = contents.setAside }
      return Set(state.setAside)
    }
    for reason in contents.setAside where !reported.contains(reason) { emit(nil, .unreadable(reason), layer) }
    learn(contents.identities, layer)
    withState { $0.reserve(contents.entries.count) }
    let types = mutationTypes
    // Includes ids that were received and are not saved yet.
    let identities = withState(\.identities)
    var (isAwaited, isReadable) = (false, true)
    // The app's own store may return an entry twice.
    var seen: Set<UUID> = []
    let new = contents.entries
      .filter { stored in seen.insert(stored.id).inserted && withState { $0.isNew(stored.id, since: start) } }
      .map { stored in
        let restored = Restored(stored, types, identities)
        isAwaited = isAwaited || restored.isWaiting
        isReadable = isReadable && restored.isReadable
        return restored
      }
    if isAwaited || !isReadable { note(new, isAwaited: isAwaited) }
    let old = restore(new, of: contents, since: start, layer)
    guard !old.isEmpty else { return }
    do { try await commits.save(commits.enqueue(old.map { .remove($0) })) } catch {
      emit(nil, .storeFailed(.persistence(error)), layer)
    }
  }

  /// Adds entries in batches.
  ///
  /// - Returns: the entries that have expired.
  private func restore(
    _ new: [Restored], of contents: OutboxContents, since start: RecentRemovals.Start, _ layer: LayerContext
  ) -> [UUID] {
    let now = layer.configuration.now()
    let last = withState(\.lastInLanes)
    var (batch, old): ([Restorable], [UUID]) = ([], [])
    for restored in new {
      switch restored {
      case .unreadable(let unreadable):
        let isNew = withState { $0.unreadable.updateValue(unreadable, forKey: unreadable.stored.id) == nil }
        if isNew { emit(unreadable.entry, .unreadable(unreadable.reason), layer) }
      case .readable(let entry, let box):
        if entry.isOver(at: now) {
          old.append(entry.id)
        } else if var next = restorable(entry, box, contents, since: start, layer) {
          next.isNewest = last.map { $0 < entry.number } ?? false
          if !next.goes(with: batch) {
            restore(batch, layer)
            batch = []
          }
          batch.append(next)
        }
      }
    }
    restore(batch, layer)
    return old
  }

  /// Records ids before the first entry may go: an entry may be in front of the entry that supplies
  /// its id, and entries that wait for the ids of an unreadable entry keep waiting.
  private func note(_ new: [Restored], isAwaited: Bool) {
    withState { state in
      for restored in new {
        guard isAwaited || !restored.isReadable, let entry = restored.entry, !state.isKnown(entry.id) else { continue }
        state.queue.identities.note(entry)
      }
    }
  }

  /// The types of the mutations that can be read, by name.
  var mutationTypes: [String: any Mutation.Type] {
    Dictionary(configuration.mutations.map { ($0.name, $0) }) { first, _ in first }
  }

  /// Returns what is added for an entry of the store; `nil` if the entry is known.
  private func restorable(
    _ entry: OutboxEntry, _ box: MutationBox, _ contents: OutboxContents, since start: RecentRemovals.Start,
    _ layer: LayerContext
  ) -> Restorable? {
    guard withState({ $0.isNew(entry.id, since: start) }) else { return nil }
    var entry = entry
    let lease = contents.lease(of: entry.id, at: layer.configuration.now(), except: process)
    if lease == nil { entry.abandon() }
    var next = Restorable(entry: entry, item: OutboxState.Item(mutation: box), lease: lease)
    next.stay = entry.draftStay(at: layer.configuration.now())
    if entry.isInLane || next.isAccepted {
      next.item.drafts = (try? box.drafts.made(of: entry.id, key: layer.key)) ?? []
    }
    return next
  }

  /// Shows the drafts of some entries, and adds the entries.
  private func restore(_ batch: [Restorable], _ layer: LayerContext) {
    guard let first = batch.first else { return }
    // The layer would continue to show an accepted one after everything is removed.
    let isRemoved = first.isAccepted && withState { $0.removals > 0 }
    let drafts = isRemoved ? [] : batch.flatMap(\.item.drafts)
    let place = layer.reserveDraftPlaces(drafts.count, isRestored: !first.isNewest)
    if first.isAccepted, first.stay == nil {
      layer.showAccepted(drafts, at: place)
    } else {
      layer.show(drafts, at: place)
    }
    if let stay = first.stay { accept(drafts, of: first.entry.id, after: stay, layer) }
    let now = layer.configuration.now()
    withState { state in
      for var next in batch {
        if next.isAccepted {
          state.accepted.append(next.entry.id)
          state.queue.identities.lose(idsIn: next.entry)
          // They belong to the layer now.
          next.item.drafts = []
        }
        state.insert(next.entry, next.item)
        state.noteLane(of: next.entry, next.item.mutation)
        if let lease = next.lease { state.queue.deferLease(next.entry.id, until: lease.look(after: now)) }
      }
    }
  }

  package func wentOnline() {
    withState { $0.queue.forgetUnsentBackoff() }
    changed()
    pump()
  }

  /// Continues after a 401: the user has signed in, or the credential was refreshed after all.
  func signedIn() {
    withState { state in
      state.queue.signedIn()
      state.signIns += 1
    }
    changed()
    pump()
  }

  /// Cancels requests that are being built or sent. Entries submitted so far are removed. Entries
  /// that a cancelled caller submits meanwhile stay.
  package func willRemoveAll() -> PartRemoval {
    let (tasks, makings, place) = withState { state in
      state.epoch += 1
      state.removals += 1
      state.removalsBegun += 1
      return (state.inOrder(\.sending), state.inOrder(\.making), state.epoch)
    }
    for task in tasks { task.cancel() }
    for making in makings { making.interrupt() }
    return PartRemoval {
      let staying = CommitQueue.Staying(
        entries: { self.ids(since: place) }, copies: { self.withState { $0.copies.begun(since: place) } })
      try await self.commits.save(self.commits.enqueueRemoval(keeping: staying) { self.forgetAll(before: place) })
    } end: {
      self.didRemoveAll()
    }
  }

  /// The entries that were submitted after a removal was asked for.
  private func ids(since place: Int) -> Set<UUID> {
    withState { state in Set(state.items.filter { $0.value.epoch >= place }.keys) }
  }

  private func didRemoveAll() {
    // Done before a lane continues and finishes one of them.
    showAgain()
    withState { $0.removals -= 1 }
    changed()
    pump()
  }

  /// Shows the drafts of the remaining entries again, which the layer has forgotten.
  private func showAgain() {
    let drafts = withState { state in
      state.queue.entries.values.filter(\.isInLane).sorted { $0.number < $1.number }
        .flatMap { state.items[$0.id]?.drafts ?? [] }
    }
    layer?.showAgain(drafts)
  }

  private func forgetAll(before place: Int) {
    let (items, ids) = withState { state in
      state.epoch += 1
      state.forgetNumbers()
      let ids = state.idsInOrder.filter { (state.items[$0]?.epoch ?? 0) < place }
      let items = ids.compactMap { state.remove($0) }
      state.unreadable = [:]
      state.accepted = []
      state.forgetIdentities()
      state.queue.identities = TemporaryIDs()
      for id in state.idsInOrder { if let entry = state.queue.entries[id] { state.queue.identities.note(entry) } }
      state.queue.signedIn()
      return (items, ids)
    }
    tags.removeAll()
    guard let layer else { return }
    for item in items {
      item.sending?.cancel()
      layer.withdraw(item.drafts)
      item.result?.settle(.failure(.cancelled))
    }
    for id in ids { emit(id, key: nil, .discarded, layer) }
    changed()
  }
}

/// An entry of the store, with the state that the outbox adds for it.
private struct Restorable {
  var entry: OutboxEntry
  var item: OutboxState.Item
  /// The lease that another process holds.
  var lease: OutboxLease?
  /// The time for which its draft stays, although the entry was accepted.
  var stay: Duration?
  /// A Boolean value that indicates whether it was submitted after all known entries.
  var isNewest = false

  var isAccepted: Bool { entry.state == .accepted }

  /// Returns `true` if the entry can be added together with others, which notifies each key once.
  ///
  /// Accepted entries have separate, consecutive numbers. When many drafts are added at once, each
  /// copies the drafts before it.
  func goes(with batch: [Restorable]) -> Bool {
    guard let first = batch.first else { return true }
    return batch.count < 64 && !isAccepted && !first.isAccepted && isNewest == first.isNewest
  }
}

/// An entry of the store, as far as this program can read it.
enum Restored {
  case readable(OutboxEntry, MutationBox)
  case unreadable(OutboxState.Unreadable)

  /// The entry, if it can be read, with or without its mutation.
  var entry: OutboxEntry? {
    switch self {
    case .readable(let entry, _): entry
    case .unreadable(let unreadable): unreadable.entry
    }
  }

  var isReadable: Bool { if case .readable = self { true } else { false } }

  /// A Boolean value that indicates whether the entry waits for an id.
  var isWaiting: Bool {
    switch self {
    case .readable(let entry, _): !entry.awaited.isEmpty
    case .unreadable(let unreadable): unreadable.entry?.awaited.isEmpty == false
    }
  }

  init(_ stored: StoredEntry, _ types: [String: any Mutation.Type], _ identities: [String: Data]) {
    var entry: OutboxEntry
    do { entry = try OutboxEntry(decoding: stored) } catch {
      self = .unreadable(OutboxState.Unreadable(stored: stored, reason: "\(error)"))
      return
    }
    entry = entry.rewritten(by: identities) ?? entry
    do { self = .readable(entry, try MutationBox(entry, types: types)) } catch {
      self = .unreadable(
        OutboxState.Unreadable(stored: stored, entry: entry, reason: "\(error)", summary: error.summary))
    }
  }
}

extension OutboxContents {
  /// Returns the lease of an entry that another process holds.
  func lease(of id: UUID, at now: Date, except process: UUID) -> OutboxLease? {
    leases[id].flatMap { lease in
      lease.process != process && lease.counts(at: now, longest: now + Outbox.lease.inSeconds) ? lease : nil
    }
  }
}

extension OutboxEntry {
  /// A Boolean value that indicates whether the drafts of an accepted entry have expired.
  func isOver(at now: Date) -> Bool {
    guard state == .accepted, draftStaysUntil == nil else { return false }
    return endedAt.map { !(0..<Outbox.keepsAccepted.inSeconds).contains(now.timeIntervalSince($0)) } ?? true
  }
}
