import Foundation
import HTTPTypes
import ReactorCore
import ReactorWrites

/// The app's commands on entries.
extension Outbox {
  func takeBackUnsent(_ id: UUID) async -> Bool {
    guard let layer else { return false }
    await ready()
    enum Decision { case no, now, whenPrepared }
    let decision = withState { state -> Decision in
      guard let entry = state.queue.entries[id], entry.isInLane, state.items[id]?.sending == nil else { return .no }
      let isActive = state.queue.active.contains(id)
      // An attempt that has started counts, even before it was sent.
      guard !entry.isInDoubt, entry.attempts == 0 || (isActive && entry.attempts == 1 && entry.state == .sending)
      else { return .no }
      state.items[id]?.isWithdrawn = true
      if !isActive { state.queue.begin(id) }
      return isActive ? .whenPrepared : .now
    }
    switch decision {
    case .no: return false
    case .whenPrepared:
      withState { $0.items[id]?.making }?.interrupt()
      return await waitUntilTakenBack(id)
    case .now: break
    }
    return await leased(id, layer) { stored in
      guard let entry = try? OutboxEntry(decoding: stored), entry.isUnsent else { return .isForbidden }
      return await takeBack(stored, .withdrawn, layer)
    }
  }

  /// The result of a command on an entry that this process has leased.
  private enum Decided {
    case isDone, isForbidden
    /// The entry was changed meanwhile. Ids that were given to it are a change, too.
    case isOutrun
  }

  /// Runs `body` with an entry as it is stored, while holding its lease: neither this nor another
  /// process sends or changes it.
  ///
  /// - Returns: the result of `body`; `false` if it is leased or removed elsewhere, or if the store
  ///   fails.
  private func whileLeased(
    _ id: UUID, _ layer: LayerContext, _ body: (StoredEntry) async -> Decided
  ) async -> Bool {
    let isFree = withState { state in
      guard !state.queue.active.contains(id) else { return false }
      // Otherwise its lane would send it under this lease, which is about to be released.
      state.queue.begin(id)
      return true
    }
    return isFree ? await leased(id, layer, body) : false
  }

  /// Runs `body` as ``whileLeased(_:_:_:)`` does, with an entry that is active already.
  private func leased(_ id: UUID, _ layer: LayerContext, _ body: (StoredEntry) async -> Decided) async -> Bool {
    var isDone = false
    do {
      for _ in 1...3 {
        let now = layer.configuration.now()
        let stored = try await configuration.storage.claim(
          id, in: scope, by: process, now: now, until: now + Self.lease.inSeconds)
        guard let stored else {
          if await isSavedAgain(id, layer) { continue }
          break
        }
        let decided = await body(stored)
        isDone = decided == .isDone
        if decided != .isOutrun { break }
      }
      try await configuration.storage.release(id, in: scope, by: process)
    } catch {
      emit(id, key: nil, .storeFailed(.persistence(error)), layer)
    }
    withState { state in
      state.items[id]?.isWithdrawn = false
      state.queue.end(id)
    }
    changed()
    pump()
    return isDone
  }

  /// Finishes an entry that was withdrawn before its request was sent.
  ///
  /// - Parameter begun: The entry as it is stored.
  func takenBack(_ begun: StoredEntry, _ layer: LayerContext) async {
    guard withState({ $0.items[begun.id] != nil }) else { return }
    _ = await takeBack(begun, .withdrawn, layer)
  }

  private func waitUntilTakenBack(_ id: UUID) async -> Bool {
    while true {
      let (isTakenBack, shot) = withState { state -> (Bool?, OneShot<Void>?) in
        guard let item = state.items[id] else { return (!state.lostWithdrawals.contains(id), nil) }
        if item.sending == nil, state.queue.active.contains(id) { return (nil, state.addWaiter()) }
        // The attempt sent it, or failed to prepare it, before it saw the withdrawal. The next
        // attempt must not see the withdrawal.
        state.items[id]?.isWithdrawn = false
        return (nil, nil)
      }
      if let isTakenBack { return isTakenBack }
      guard let shot else { return await takeBackUnsent(id) }
      await shot.value
    }
  }

  /// Removes an entry from the store, and then from the list.
  private func takeBack(
    _ stored: StoredEntry, _ step: ReactorEvent.OutboxStep, _ layer: LayerContext
  ) async -> Decided {
    let id = stored.id
    let (orphans, isDrafted) = withState { state in
      (state.orphans(of: id, at: layer.configuration.now()), state.items[id]?.drafts.isEmpty == false)
    }
    var changes: [OutboxChange] = [.require(stored), .remove(id)]
    if isDrafted, !(configuration.storage is MemoryOutboxStorage) {
      changes.append(.identify(Self.takenBackMark(id), Self.lostIdentity))
    }
    do {
      do {
        try await commits.save(commits.enqueue(changes + updates(of: orphans, layer)))
      } catch OutboxStorageError.unknownEntry(let other) where other != id {
        // Another of the entries was withdrawn as well.
        try await commits.save(commits.enqueue(changes))
      }
    } catch OutboxStorageError.changedEntry {
      return .isOutrun
    } catch {
      if error as? OutboxStorageError == .unknownEntry(id) {
        // Another process has removed it.
        await missed(id, layer)
      } else {
        emit(id, key: nil, .storeFailed(.persistence(error)), layer)
      }
      withState { $0.items[id]?.isWithdrawn = false }
      return .isForbidden
    }
    // The app may have withdrawn it meanwhile.
    guard withState({ $0.items[id] != nil || $0.unreadable[id] != nil }) else {
      return withState { $0.lostWithdrawals.contains(id) } ? .isForbidden : .isDone
    }
    // Its dependents are looked up after it is gone.
    let item = withState { $0.remove(id, keepsIDs: true) }
    layer.withdraw(item?.drafts ?? [])
    emit(id, key: nil, step, layer)
    item?.result?.settle(.failure(.cancelled))
    await refuseDependents(of: id, layer)
    changed()
    pump()
    return .isDone
  }

  func removeDecidable(_ id: UUID) async -> Bool {
    guard let layer else { return false }
    await ready()
    await attemptToEnd(id)
    let isAllowed = withState { state in
      if state.unreadable[id] != nil { return true }
      return state.queue.entries[id]?.isDecidable == true && !state.queue.active.contains(id)
    }
    guard isAllowed else { return false }
    let isDone = await whileLeased(id, layer) { stored in
      isUnchanged(stored) ? await takeBack(stored, .discarded, layer) : .isForbidden
    }
    return await isDoneOrChanged(isDone)
  }

  /// Waits for an attempt whose outcome is published while its lease is being released. It does not
  /// wait while the store fails, which may take an hour.
  private func attemptToEnd(_ id: UUID) async {
    while true {
      let shot = withState { state -> OneShot<Void>? in
        guard state.queue.active.contains(id), state.queue.entries[id]?.isDecidable == true,
          !state.unsaved.contains(id)
        else { return nil }
        return state.addWaiter()
      }
      guard let shot else { return }
      await shot.value
    }
  }

  /// Returns a Boolean value that indicates whether no other process has changed an entry since it
  /// was read.
  private func isUnchanged(_ stored: StoredEntry) -> Bool {
    withState { state in
      if let unreadable = state.unreadable[stored.id] { return unreadable.stored.bytes == stored.bytes }
      guard let entry = state.queue.entries[stored.id], let other = try? OutboxEntry(decoding: stored) else {
        return false
      }
      return entry.state == other.state && entry.number == other.number
    }
  }

  func sendAgain(_ id: UUID) async -> Bool {
    guard let layer else { return false }
    await ready()
    await attemptToEnd(id)
    let isAllowed = withState { state in
      // It would be refused again if no entry supplies an id that it contains.
      state.queue.entries[id]?.isDecidable == true && state.queue.identities.missingID(in: id) == nil
    }
    guard isAllowed else { return false }
    let isDone = await whileLeased(id, layer) { stored in
      guard isUnchanged(stored) else { return .isForbidden }
      let now = layer.configuration.now()
      let entries = withState { state in
        // It would be built from the same values, and conflict again.
        if state.queue.entries[id]?.outcome?.kind == .conflict { state.items[id]?.needsRefresh = true }
        return state.retried(id, at: now, newKey: { self.configuration.newKey() })
      }
      return entries.isEmpty ? .isForbidden : await move(entries, from: stored, layer)
    }
    return await isDoneOrChanged(isDone)
  }

  /// Returns `isDone`. If it is `false`, another process may have acted: its change is taken over,
  /// or the entry would block its lane for ever.
  private func isDoneOrChanged(_ isDone: Bool) async -> Bool {
    if !isDone, !(configuration.storage is MemoryOutboxStorage) { try? await readStore() }
    return isDone
  }

  /// Moves entries to the ends of their lanes.
  ///
  /// - Parameter stored: The first of them, as the store must still have it.
  private func move(_ entries: [OutboxEntry], from stored: StoredEntry, _ layer: LayerContext) async -> Decided {
    var changes: [OutboxChange] = [.require(stored)]
    for entry in entries {
      guard let bytes = try? encoded(entry, layer) else { return .isForbidden }
      changes.append(.move(StoredEntry(id: entry.id, lane: entry.lane, bytes: bytes)))
    }
    let mutations = withState { state in entries.map { state.items[$0.id]?.mutation } }
    let counts = mutations.map { $0?.drafts.changes.count ?? 0 }
    // Drafts and entries get their positions together, so that both orders agree.
    let ticket = withState { _ in
      let places = counts.map { layer.reserveDraftPlaces($0) }
      return commits.enqueue(changes) { numbers in self.moved(entries, numbers, places, layer) }
    }
    do { try await commits.save(ticket) } catch OutboxStorageError.changedEntry { return .isOutrun } catch {
      if error as? OutboxStorageError == .unknownEntry(stored.id) {
        await missed(stored.id, layer)
      } else {
        emit(entries.first, .storeFailed(.persistence(error)), layer)
      }
      return .isForbidden
    }
    changed()
    pump()
    return .isDone
  }

  /// Puts entries at the end of their lanes, and shows their drafts again.
  private func moved(_ entries: [OutboxEntry], _ numbers: [UInt64], _ places: [UInt64], _ layer: LayerContext) {
    for ((entry, number), place) in zip(zip(entries, numbers), places) {
      var entry = entry
      entry.number = number
      guard let old = withState({ $0.items[entry.id] }) else { continue }
      let drafts = (try? old.mutation.drafts.made(of: entry.id, key: layer.key)) ?? []
      withState { state in
        var item = OutboxState.Item(mutation: old.mutation, drafts: drafts)
        // A caller may still wait for a conflicted entry.
        item.result = old.result
        (item.asked, item.needsRefresh) = (old.asked, old.needsRefresh)
        let isActive = state.queue.active.contains(entry.id)
        state.remove(entry.id, keepsIDs: true)
        state.insert(entry, item)
        state.noteSaved(number)
        if isActive { state.queue.begin(entry.id) }
      }
      layer.replace(old.drafts, by: drafts, at: place)
      // Ids may have arrived since.
      if let rewritten = entry.rewritten(by: withState(\.identities)) { rewrite(rewritten, layer) }
      emit(entry, .submitted, layer)
    }
  }
}

extension OutboxState {
  /// Returns the entry `id`, ready to be sent again, followed by the entries that wait for its ids;
  /// nothing if its state forbids it.
  fileprivate func retried(_ id: UUID, at now: Date, newKey: () -> String) -> [OutboxEntry] {
    guard var entry = queue.entries[id], let item = items[id], entry.isDecidable else { return [] }
    entry.retry(at: now, keepsRequest: item.mutation.keepsRequest, newKey: newKey)
    var entries = [entry]
    var seen: Set<UUID> = [id]
    // The entries that wait for its ids, directly or through other entries.
    var next = [id]
    while let owner = next.popLast() {
      let holders = queue.identities.holders(ofIDsOf: owner).compactMap { queue.entries[$0] }
        .filter { $0.isInLane && seen.insert($0.id).inserted }
      entries += holders
      next += holders.map(\.id)
    }
    return [entry] + entries.dropFirst().sorted { $0.number < $1.number }
  }
}

extension OutboxEntry {
  /// A Boolean value that indicates whether the app may retry or discard the entry.
  var isDecidable: Bool {
    switch state {
    case .refused, .unresolved, .conflicted: true
    case .waiting, .sending, .unknown, .accepted: false
    }
  }

  /// A Boolean value that indicates whether no byte of an attempt can have reached the server.
  var isUnsent: Bool { state == .waiting && attempts == 0 && !isInDoubt }
}
