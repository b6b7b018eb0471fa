import Foundation
import ReactorCore
import ReactorWrites

/// The server's ids, in the entries that hold a temporary one.
extension Outbox {
  /// The JSON that the store has for an id that will never arrive: the entry was accepted, but the
  /// response contained no id.
  static let lostIdentity = Data("null".utf8)

  /// The name under which the store notes that an entry was withdrawn or discarded, so that no
  /// other process takes it for accepted. Its value is ``lostIdentity``'s JSON.
  static func takenBackMark(_ id: UUID) -> String { "taken back: \(id.uuidString)" }

  /// Takes over ids that the server has given to this process or to another one.
  func learn(_ identities: [String: Data], _ layer: LayerContext) {
    let identities = identities.filter { !Self.isMarker($0.key) }
    let given = identities.filter { $0.value != Self.lostIdentity }
    withState { state in
      state.keepIdentities(given)
      if given.count < identities.count {
        state.queue.identities.lose(identities.keys.filter { given[$0] == nil && state.identities[$0] == nil })
      }
    }
    guard !given.isEmpty else { return }
    // All at once: one entry's drafts may move to a key where another entry's drafts change, too.
    let changes = rewritten(by: given).compactMap { replaced(by: $0, layer) }
    layer.replace(changes + replacedSubmitted(layer))
  }

  /// Returns the entries that contain one of these temporary ids, with the server's ids in their
  /// place.
  func rewritten(by identities: [String: Data]) -> [OutboxEntry] {
    guard !identities.isEmpty else { return [] }
    return withState { state in
      let holders = identities.keys.reduce(into: Set<UUID>()) { $0.formUnion(state.queue.identities.holders(of: $1)) }
      return holders.compactMap { holder -> OutboxEntry? in
        state.queue.entries[holder]?.rewritten(by: identities)
      }.sorted { $0.number < $1.number }
    }
  }

  /// Shows an entry with the arguments of `new`, in which ids were replaced.
  ///
  /// - Parameter isMoved: `true` if it is now behind the other entries.
  /// - Returns: `false` if this program cannot read the arguments.
  @discardableResult func rewrite(_ new: OutboxEntry, isMoved: Bool = false, _ layer: LayerContext) -> Bool {
    guard let item = withState({ $0.items[new.id] }) else { return true }
    guard let (box, drafts) = made(of: new, like: item, layer) else { return false }
    guard let change = exchange(new, box, drafts, isMoved: isMoved, layer) else { return true }
    layer.replace([change])
    return true
  }

  private func replaced(by new: OutboxEntry, _ layer: LayerContext) -> DraftReplacement? {
    guard let item = withState({ $0.items[new.id] }), let (box, drafts) = made(of: new, like: item, layer)
    else { return nil }
    return exchange(new, box, drafts, isMoved: false, layer)
  }

  /// Returns the mutation of an entry and its drafts; `nil` if this program cannot read it.
  func made(of entry: OutboxEntry, like item: OutboxState.Item, _ layer: LayerContext) -> (MutationBox, [Draft])? {
    let type = Swift.type(of: item.mutation.value)
    guard let box = try? MutationBox(entry, types: [entry.name: type]),
      let drafts = try? box.drafts.made(of: entry.id, key: layer.key)
    else { return nil }
    return (box, drafts)
  }

  /// Replaces the arguments of an entry in the state. The caller then shows its drafts.
  private func exchange(
    _ new: OutboxEntry, _ box: MutationBox, _ drafts: [Draft], isMoved: Bool, _ layer: LayerContext
  ) -> DraftReplacement? {
    withState { state -> DraftReplacement? in
      guard var entry = state.queue.entries[new.id], let item = state.items[new.id] else { return nil }
      entry.arguments = new.arguments
      state.queue.put(entry)
      state.items[new.id]?.mutation = box
      state.noteLane(of: entry, box)
      // The drafts of a finished entry are gone.
      guard entry.isInLane else { return nil }
      state.items[new.id]?.drafts = drafts
      // Its keys may have changed.
      state.noteTurn(of: new.id)
      let place = isMoved ? layer.reserveDraftPlaces(drafts.count) : nil
      return DraftReplacement(old: item.drafts, new: drafts, place: place)
    }
  }

  /// Refuses the entries that wait for an id of an entry that completed without supplying it.
  func refuseDependents(of id: UUID, isAccepted: Bool = false, _ layer: LayerContext) async {
    let (dependents, temporary) = withState { state -> ([OutboxEntry], String) in
      let known = state.identities
      let dependents = state.queue.identities.holders(ofIDsOf: id, except: known).compactMap { state.queue.entries[$0] }
        .filter { !state.queue.active.contains($0.id) }
      let temporary = state.queue.identities.firstID(ofIDsOf: id) ?? ""
      // So that their lanes do not start them meanwhile.
      for dependent in dependents { state.queue.begin(dependent.id) }
      // A refused entry no longer supplies ids, but still receives ids of other entries.
      if isAccepted {
        state.queue.identities.settle(id, known)
      } else if state.queue.entries[id] == nil {
        state.queue.identities.forget(id)
      } else {
        state.queue.identities.release(id)
      }
      return (dependents.sorted { $0.number < $1.number }, temporary)
    }
    for dependent in dependents {
      if var entry = withState({ $0.queue.entries[dependent.id] }), entry.isInLane {
        await refuse(&entry, from: nil, .network(MutationError.missingIdentity(temporary)), layer)
      }
      withState { $0.queue.end(dependent.id) }
    }
    guard !dependents.isEmpty else { return }
    changed()
    for lane in Set(dependents.map(\.lane)).sorted() { pump(lane) }
  }
}

extension OutboxEntry {
  /// Returns the entry as refused, because no entry supplies an id that it waits for.
  func refused(forLackOf temporary: String, at now: Date) -> OutboxEntry {
    var entry = self
    _ = entry.end(as: .refused, at: now)
    entry.outcome = LastOutcome(.refused, status: outcome?.status, reason: Self.reason(forLackOf: temporary), date: now)
    return entry
  }

  /// Returns `true` if the entry was refused because no entry supplies `temporary`.
  func wasRefused(forLackOf temporary: String) -> Bool {
    state == .refused && outcome?.reason == Self.reason(forLackOf: temporary)
  }

  private static func reason(forLackOf temporary: String) -> String {
    ReactorError.network(MutationError.missingIdentity(temporary)).reason
  }

  /// Returns the entry with the server's ids; `nil` if it holds none of them.
  func rewritten(by identities: [String: Data]) -> OutboxEntry? {
    guard let arguments = TemporaryIDs.rewritten(arguments, identities) else { return nil }
    var entry = self
    entry.arguments = arguments
    return entry
  }
}

extension OutboxState {
  /// Returns, as refused, the entries that can no longer be sent if `id` never supplies its ids:
  /// the entries that wait for them, directly or through others.
  func orphans(of id: UUID, at now: Date, except known: [String: Data] = [:]) -> [OutboxEntry] {
    var orphans: [OutboxEntry] = []
    var seen: Set<UUID> = [id]
    var next = [id]
    while let owner = next.popLast() {
      let temporary = queue.identities.firstID(ofIDsOf: owner) ?? ""
      let holders = queue.identities.holders(ofIDsOf: owner, except: known).compactMap { queue.entries[$0] }
        .filter { !queue.active.contains($0.id) && seen.insert($0.id).inserted }
      orphans += holders.map { $0.refused(forLackOf: temporary, at: now) }
      next += holders.map(\.id)
    }
    return orphans.sorted { $0.number < $1.number }
  }
}
