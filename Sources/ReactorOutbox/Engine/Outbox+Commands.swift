import Foundation
import HTTPTypes
import ReactorCore

/// The program's own decisions about entries.
extension Outbox {
  func withdrawing(_ id: UUID) async -> Bool {
    guard let layer else { return false }
    await ready()
    enum Decision { case no, now, whenPrepared }
    let decision = withState { state -> Decision in
      guard let entry = state.queue.entries[id], entry.isInLane, state.items[id]?.sending == nil else { return .no }
      let isActive = state.queue.active.contains(id)
      // An attempt that was begun and not sent yet counts already.
      guard !entry.isInDoubt, entry.attempts == 0 || (isActive && entry.attempts == 1 && entry.state == .sending)
      else { return .no }
      state.items[id]?.isWithdrawn = true
      return isActive ? .whenPrepared : .now
    }
    switch decision {
    case .no: return false
    case .whenPrepared: return await waitUntilTakenBack(id)
    case .now: return await takeBack(id, .withdrawn, layer)
    }
  }

  /// Ends an entry that was withdrawn before its request was sent.
  func takenBack(_ entry: OutboxEntry, _ layer: LayerContext) async {
    guard withState({ $0.items[entry.id] != nil }) else { return }
    _ = await takeBack(entry.id, .withdrawn, layer)
  }

  private func waitUntilTakenBack(_ id: UUID) async -> Bool {
    while true {
      let (isHere, shot) = withState { state -> (Bool, OneShot<Void>?) in
        guard let item = state.items[id] else { return (false, nil) }
        // It was sent, or could not be prepared, before it saw that it was withdrawn.
        return (true, item.sending == nil && state.queue.active.contains(id) ? state.addWaiter() : nil)
      }
      guard isHere else { return true }
      guard let shot else { return await withdrawing(id) }
      await shot.value
    }
  }

  /// Removes an entry from the store, and then from what is shown.
  private func takeBack(_ id: UUID, _ step: ReactorEvent.OutboxStep, _ layer: LayerContext) async -> Bool {
    guard (try? await commits.save(commits.enqueue([.remove(id)]))) != nil else {
      withState { $0.items[id]?.isWithdrawn = false }
      return false
    }
    let (entry, item, effect) = withState { state in
      let entry = state.queue.entries[id]
      // Its dependents are looked up after it is gone.
      let identities = state.queue.identities
      let (item, effect) = state.remove(id)
      state.queue.identities = identities
      return (entry, item, effect)
    }
    effect.perform(in: layer)
    layer.withdraw(item?.drafts ?? [])
    emit(id, key: nil, step, layer)
    item?.result?.settle(.failure(.cancelled))
    if let entry { await refuseDependents(of: entry, layer) }
    changed()
    pump()
    return true
  }

  func discarding(_ id: UUID) async -> Bool {
    guard let layer else { return false }
    await ready()
    let isAllowed = withState { state in
      if state.unreadable[id] != nil { return true }
      switch state.queue.entries[id]?.state {
      case .refused, .unresolved, .conflicted: return !state.queue.active.contains(id)
      default: return false
      }
    }
    return isAllowed ? await takeBack(id, .discarded, layer) : false
  }

  func retrying(_ id: UUID) async -> Bool {
    guard let layer else { return false }
    await ready()
    let entries = withState { $0.retried(id, newKey: { self.configuration.makeID().uuidString }) }
    guard !entries.isEmpty else { return false }
    var changes: [OutboxChange] = []
    for entry in entries {
      guard let bytes = try? encoded(entry, layer) else { return false }
      changes.append(.move(StoredEntry(id: entry.id, lane: entry.lane, bytes: bytes)))
    }
    let mutations = withState { state in entries.map { state.items[$0.id]?.mutation } }
    let counts = mutations.map { $0?.drafts.changes.count ?? 0 }
    // The places of the drafts are drawn together with those of the entries, so that both orders agree.
    let ticket = withState { _ in
      let places = counts.map { layer.reserveDraftPlaces($0) }
      return commits.enqueue(changes) { numbers in self.moved(entries, numbers, places, layer) }
    }
    guard (try? await commits.save(ticket)) != nil else { return false }
    changed()
    pump()
    return true
  }

  /// Puts entries at the end of their lanes, and shows their drafts again.
  private func moved(_ entries: [OutboxEntry], _ numbers: [UInt64], _ places: [UInt64], _ layer: LayerContext) {
    for ((entry, number), place) in zip(zip(entries, numbers), places) {
      var entry = entry
      entry.number = number
      guard let old = withState({ $0.items[entry.id] }) else { continue }
      let drafts = (try? old.mutation.drafts.made(of: entry.id, key: layer.key)) ?? []
      let effect = withState { state -> LaneEffect in
        var item = OutboxState.Item(mutation: old.mutation, drafts: drafts)
        // Of a conflicted entry somebody may be waiting still.
        item.result = old.result
        _ = state.remove(entry.id)
        return state.insert(entry, item)
      }
      effect.perform(in: layer)
      layer.replace(old.drafts, by: drafts, at: place)
      emit(entry, .submitted, layer)
    }
  }
}

extension OutboxState {
  /// Returns the entry `id`, ready to be sent again, and those that wait for its ids after it;
  /// nothing if its state forbids it.
  fileprivate func retried(_ id: UUID, newKey: () -> String) -> [OutboxEntry] {
    guard var entry = queue.entries[id], let item = items[id], !queue.active.contains(id) else { return [] }
    switch entry.state {
    case .refused, .unresolved, .conflicted: break
    case .waiting, .sending, .unknown, .accepted: return []
    }
    entry.retry(keepsRequest: item.mutation.keepsRequest, newKey: newKey)
    var entries = [entry]
    var seen: Set<UUID> = [id]
    // Those that wait for its ids, in whatever number of steps.
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
