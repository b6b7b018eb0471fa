import Foundation
import ReactorCore
import ReactorWrites

/// Entries that another process has changed, finished or removed.
extension Outbox {
  /// Takes over another process's change of an entry that this process had leased.
  func takeOver(_ id: UUID, _ layer: LayerContext) async {
    guard await claim(id, layer) != nil else { return }
    try? await configuration.storage.release(id, in: scope, by: process)
  }

  /// Reads the store, after another process has leased or finished an entry.
  func missed(_ id: UUID, _ layer: LayerContext) async {
    let now = layer.configuration.now()
    withState { $0.queue.deferLease(id, until: now + Self.poll.inSeconds) }
    let epoch = withState(\.epoch)
    guard var contents = try? await configuration.storage.contents(of: scope) else { return }
    if withState({ $0.isOther(contents.identity) }) {
      // The entry is not missing because it was finished. A failure is reported, and the entry's
      // next turn tries again.
      guard (try? await readStore()) != nil, let again = try? await configuration.storage.contents(of: scope)
      else { return }
      contents = again
    }
    // Entries that `removeAll` is removing were not finished by another process.
    guard withState({ $0.isCurrent(epoch) }) else { return }
    guard let stored = contents.entries.first(where: { $0.id == id }) else {
      return await goneElsewhere(id, contents.identities, layer)
    }
    // Other entries that moved with it must be known first, or they would be sent in another order.
    if let known = withState({ $0.queue.entries[id]?.number }), known != stored.number {
      return _ = try? await readStore()
    }
    // The other process keeps the lease for a while.
    if let entry = try? OutboxEntry(decoding: stored), !entry.isInLane {
      return await endedElsewhere(entry, contents.identities, layer)
    }
    if let lease = contents.leases[id], lease.process != process {
      withState { $0.queue.deferLease(id, until: lease.look(after: now)) }
    }
  }

  /// Forgets an entry that another process has finished and removed.
  ///
  /// - Parameter identities: The ids of the store, including the ids that the entry supplied.
  func goneElsewhere(_ id: UUID, _ identities: [String: Data], _ layer: LayerContext) async {
    learn(identities, layer)
    let item = withState { state in
      defer { state.queue.identities.settle(id, state.identities) }
      return state.loseToOthers(id)
    }
    guard let item else { return }
    // It may have been accepted, unless it was withdrawn there.
    if identities[Self.takenBackMark(id)] != nil { layer.withdraw(item.drafts) } else { layer.accept(item.drafts) }
    emit(id, key: nil, .endedElsewhere, layer)
    await layer.invalidate(item.drafts.keys, groups: [])
    item.result?.settle(.failure(.network(MutationError.endedElsewhere)))
    changed()
    // Starts the lanes that waited for its ids.
    pump()
  }

  /// Takes over that another process has finished an entry, with the ids from its response.
  func endedElsewhere(_ entry: OutboxEntry, _ layer: LayerContext) async {
    do {
      let contents = try await configuration.storage.contents(of: scope)
      await endedElsewhere(entry, contents.identities, layer)
    } catch {
      postpone(entry.id, after: .persistence(error), layer)
    }
  }

  /// Takes over the outcome of an entry that another process has finished and kept.
  ///
  /// - Parameter identities: The ids of the store, including the ids that the entry supplied.
  func endedElsewhere(_ entry: OutboxEntry, _ identities: [String: Data], _ layer: LayerContext) async {
    learn(identities, layer)
    let item = withState { state in
      let item = state.items[entry.id]
      // A pending withdrawal of it comes too late, whatever happens to the entry.
      if item?.isWithdrawn == true { state.lostWithdrawals.insert(entry.id) }
      state.update(entry)
      state.items[entry.id]?.drafts = []
      state.noteTurn(of: entry.id)
      switch entry.state {
      case .accepted: state.queue.identities.settle(entry.id, state.identities)
      case .refused: state.queue.identities.release(entry.id)
      default: break
      }
      return item
    }
    if let item {
      if entry.state == .accepted {
        accept(item.drafts, of: entry.id, after: entry.draftStay(at: layer.configuration.now()), layer)
      } else {
        layer.withdraw(item.drafts)
      }
      emit(entry, .endedElsewhere, layer)
      await layer.invalidate(item.drafts.keys, groups: [])
      item.result?.settle(.failure(.network(MutationError.endedElsewhere)))
    }
    changed()
    pump()
  }

  /// Shows another process's change of an entry: its ids, or its position.
  func showChange(of entry: OutboxEntry, from old: OutboxEntry, _ layer: LayerContext) {
    let isMoved = entry.number != old.number
    guard isMoved || entry.arguments != old.arguments else { return }
    rewrite(entry, isMoved: isMoved, layer)
  }

  func setAside(_ stored: StoredEntry, _ reason: String, _ layer: LayerContext) {
    let item = withState { state in
      // Entries that wait for its ids keep waiting.
      defer { state.unreadable[stored.id] = OutboxState.Unreadable(stored: stored, reason: reason) }
      return state.loseToOthers(stored.id)
    }
    layer.withdraw(item?.drafts ?? [])
    item?.result?.settle(.failure(.network(MutationError.endedElsewhere)))
    emit(stored.id, key: nil, .unreadable(reason), layer)
    changed()
  }
}
