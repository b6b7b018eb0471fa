import Foundation
package import HTTPCaching

extension LayerContext {
  /// Returns places for `count` drafts, as the first of them; see ``show(_:at:)``.
  ///
  /// - Parameter isRestored: `true` if an earlier process has made the drafts: they come before
  ///   those of this one.
  package func reserveDraftPlaces(_ count: Int, isRestored: Bool = false) -> UInt64 {
    drafts.reserve(count, isRestored: isRestored)
  }

  /// Shows pending drafts in every reactor of their types.
  ///
  /// - Parameter place: the first of their places; `nil` for places after all others.
  package func show(_ drafts: [Draft], at place: UInt64? = nil) {
    guard !drafts.isEmpty else { return }
    self.drafts.add(drafts, at: place ?? self.drafts.reserve(drafts.count))
    let members = livingMembers
    for draft in drafts { announce(.added(draft), to: members) }
    // Computed here, so that whoever reads next finds it done, and the next draft adds to it.
    for member in members { for draft in drafts { member.computeDrafts(of: draft.key) } }
  }

  /// Shows pending drafts again, at their own places, after everything was to be removed and they
  /// were not.
  package func showAgain(_ drafts: [Draft]) {
    for draft in drafts where self.drafts.addAgain(draft) {
      announce(.drafted(.added(draft)))
      for member in livingMembers { member.computeDrafts(of: draft.key) }
    }
  }

  /// Turns drafts into accepted ones: they stay until a value that was requested later replaces
  /// their base.
  ///
  /// Call it while the write still counts as being sent, so that no response from before the
  /// acceptance is on its way.
  package func accept(_ drafts: [Draft]) {
    guard !drafts.isEmpty else { return }
    let number = generations.next()
    for draft in drafts where self.drafts.accept(draft, under: number) { announce(.accepted(draft), to: livingMembers) }
  }

  /// Shows drafts that the server has accepted already. No stream shows them as pending before.
  package func showAccepted(_ drafts: [Draft], at place: UInt64) {
    guard !drafts.isEmpty else { return }
    self.drafts.add(drafts, at: place)
    let number = generations.next()
    for draft in drafts where self.drafts.accept(draft, under: number) {
      announce(.added(draft), to: livingMembers)
      // Whoever has read the table in between has it as pending.
      announce(.accepted(draft), to: livingMembers)
    }
    for member in livingMembers { for draft in drafts { member.computeDrafts(of: draft.key) } }
  }

  /// Removes drafts. What other drafts make of the base is not affected.
  package func withdraw(_ drafts: [Draft]) {
    self.drafts.remove(drafts)
    for draft in drafts { announce(.removed(draft), to: livingMembers) }
  }

  /// Shows `new` instead of `old`, the drafts of the same write.
  ///
  /// - Parameter place: the first of the places of `new`; `nil` for the places of `old`.
  package func replace(_ old: [Draft], by new: [Draft], at place: UInt64? = nil) {
    for (index, (old, new)) in zip(old, new).enumerated() {
      self.drafts.add([new], at: place.map { $0 + UInt64(index) } ?? old.order)
      if old.key == new.key, old.model == new.model {
        self.drafts.remove([old])
        announce(.replaced(old, new), to: livingMembers)
      } else {
        announce(.added(new), to: livingMembers)
        withdraw([old])
      }
    }
    withdraw(Array(old.dropFirst(new.count)))
    show(Array(new.dropFirst(old.count)), at: place.map { $0 + UInt64(old.count) })
  }

  /// Announces a change of a draft: the draft of an entity to the keys that hold it.
  private func announce(_ change: DraftChange, to members: [any LayerReactor]) {
    if change.draft.entity == nil {
      for member in members { member.layerChanged(.drafted(change)) }
    } else {
      announce(entities.drafted(change))
    }
  }

  /// Announces a write of `keys` that goes as soon as its turn comes: requests that only streams
  /// wait for go after it.
  package func expectSending(_ keys: Set<RecordKey>) { sendings.expect(keys) }

  /// Begins to send a write that ``SendingGate/expect(_:)`` announced. Requests for `keys` wait
  /// until ``endSending(_:)``.
  package func beginSending(_ keys: Set<RecordKey>) async {
    await sendings.begin(keys)
    for key in keys.inOrder { announce(.sendingBegan(key)) }
  }

  package func endSending(_ keys: Set<RecordKey>) {
    sendings.end(keys)
    for key in keys.inOrder { announce(.sendingEnded(key)) }
  }

  /// Takes back the announcement of a write that will not be sent now.
  package func cancelSending(_ keys: Set<RecordKey>) {
    sendings.cancelExpected(keys)
    for key in keys.inOrder { announce(.sendingEnded(key)) }
  }
}

extension Set<RecordKey> {
  /// The keys in an order that is the same in each run.
  var inOrder: [RecordKey] { sortedUnspecialized { $0.identity < $1.identity } }
}
