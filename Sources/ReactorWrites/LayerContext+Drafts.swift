package import Foundation
package import HTTPCaching
package import ReactorCore

extension LayerContext {
  /// Reserves positions for `count` drafts, and returns the first; see ``show(_:at:)``.
  ///
  /// - Parameter isRestored: `true` if an earlier process made the drafts: they precede the drafts
  ///   of this process.
  package func reserveDraftPlaces(_ count: Int, isRestored: Bool = false) -> UInt64 {
    drafts.reserve(count, isRestored: isRestored)
  }

  /// Shows pending drafts in every reactor of their types.
  ///
  /// - Parameter place: the first of their places; `nil` for places after all others.
  package func show(_ drafts: [Draft], at place: UInt64? = nil) {
    guard !drafts.isEmpty else { return }
    self.drafts.add(drafts, at: place ?? self.drafts.reserve(drafts.count))
    announce(drafts.map { DraftChange.added($0) })
    // Computed here, so that the next reader finds it done, and the next draft builds on it.
    var last: RecordKey?
    for key in drafts.map(\.key) where key != last {
      computeShown(of: key)
      last = key
    }
  }

  /// Shows pending drafts again, at their own places, after everything was to be removed and they
  /// were not.
  package func showAgain(_ drafts: [Draft]) {
    for draft in drafts where self.drafts.addAgain(draft) {
      announce([DraftChange.added(draft)])
      computeShown(of: draft.key)
    }
  }

  /// Turns drafts into accepted ones: they stay until a value that was requested later replaces
  /// their base.
  ///
  /// Call it while the write still counts as being sent, so that no response from before the
  /// acceptance is on its way.
  package func accept(_ drafts: [Draft]) {
    guard !drafts.isEmpty else { return }
    entities.keepPlaces(of: drafts)
    let number = generations.next()
    // While everything is removed, the keys hide their drafts, and show them again if that fails.
    let time = elapsed()
    announce(
      drafts.map { draft -> DraftChange in
        self.drafts.accept(draft, under: number, at: time) ? .accepted(draft) : .removed(draft)
      })
  }

  /// Shows drafts that the server has accepted already. No stream shows them as pending before.
  package func showAccepted(_ drafts: [Draft], at place: UInt64) {
    guard !drafts.isEmpty else { return }
    self.drafts.add(drafts, at: place)
    entities.keepPlaces(of: drafts)
    let (number, time) = (generations.next(), elapsed())
    // A reader in between has seen them as pending.
    let accepted = drafts.filter { self.drafts.accept($0, under: number, at: time) }
    announce(accepted.flatMap { [DraftChange.added($0), .accepted($0)] })
    for draft in drafts { computeShown(of: draft.key) }
  }

  /// Removes drafts. What other drafts make of the base is not affected.
  package func withdraw(_ drafts: [Draft]) {
    self.drafts.remove(drafts)
    announce(drafts.map { DraftChange.removed($0) })
  }

  /// Removes a draft unless the server has accepted it: that one stays until a newer value has it.
  package func withdrawPending(_ draft: Draft) {
    if drafts.removePending(draft) { announce([DraftChange.removed(draft)]) }
  }

  /// Shows `new` instead of `old`, the drafts of the same write.
  ///
  /// - Parameter place: the first of the places of `new`; `nil` for the places of `old`.
  package func replace(_ old: [Draft], by new: [Draft], at place: UInt64? = nil) {
    replace([DraftReplacement(old: old, new: new, place: place)])
  }

  /// Shows other drafts of several writes, all at once: no state of a key has only some of them.
  package func replace(_ replacements: [DraftReplacement]) {
    let writes = replacements.map { replacement in
      let (old, new) = (replacement.old, replacement.new)
      let count = max(0, new.count - old.count)
      let further = replacement.place == nil && count > 0 ? self.drafts.reserve(count) : 0
      let places = new.indices.map { index in
        replacement.place.map { $0 + UInt64(index) }
          ?? (index < old.count ? old[index].order : further + UInt64(index - old.count))
      }
      return (old: old, new: Array(zip(new, places)).map { (draft: $0, place: $1) })
    }
    let areHere = self.drafts.replace(writes)
    // The keys hide drafts that were removed with everything else, and must not show them again.
    let changes = zip(replacements, areHere).flatMap { $1 ? $0.changes : $0.old.map { .removed($0) } }
    announce(changes)
  }

  /// Announces changes of drafts; for entities, to the keys that contain them.
  private func announce(_ changes: [DraftChange]) {
    let own: [any PresentationChange] = changes.filter { $0.draft.entity == nil }
    if !own.isEmpty { announce(own) }
    guard own.count < changes.count else { return }
    for change in changes where change.draft.entity != nil { renew(entities.drafted(change)) }
  }

  /// Starts sending the write `id`. Requests for `keys` wait until ``endSending(_:_:)``.
  ///
  /// - Parameter epoch: ``entityEpoch`` when the app requested the write; `nil` for the present
  ///   one.
  /// - Throws: ``ReactorError/deadlock(keys:)`` if the request of a key awaits the write, in a wait
  ///   that cannot be refused. The write has then not started.
  package func beginSending(
    _ id: UUID, _ keys: Set<RecordKey>, askedIn epoch: Int? = nil
  ) async throws(ReactorError) -> WriteStart {
    let epoch = epoch ?? entityEpoch
    if let circle = await sendings.begin(id, keys) { throw .deadlock(keys: circle) }
    let start = writeStart(askedIn: epoch)
    sendingBegan(keys)
    return start
  }

  /// Refuses the waits for `owner` if it cannot continue before one of several writes starts, and
  /// each of them waits for a request of its keys that awaits `owner`.
  ///
  /// - Parameter writes: The keys of each write.
  package func refuseWaits(for owner: LockOwner, behind writes: [Set<RecordKey>]) {
    sendings.refuseWaits(for: owner, behind: writes)
  }

  package func endSending(_ id: UUID, _ keys: Set<RecordKey>) {
    sendings.end(id)
    lookAgain(at: keys)
    toldWriteEnded()
  }

  /// Starts the requests for `keys` that have waited for a write, if no write is due any more.
  package func lookAgain(at keys: Set<RecordKey>) {
    sendingEnded(keys)
  }
}

/// New drafts of a write, which replace its earlier ones.
package struct DraftReplacement: Sendable {
  let old: [Draft]
  let new: [Draft]
  /// The first of the places of `new`; `nil` for the places of `old`.
  let place: UInt64?

  package init(old: [Draft], new: [Draft], place: UInt64? = nil) {
    (self.old, self.new, self.place) = (old, new, place)
  }

  fileprivate var changes: [DraftChange] {
    var changes: [DraftChange] = []
    for (index, draft) in new.enumerated() {
      let earlier = index < old.count ? old[index] : nil
      if let earlier, earlier.key == draft.key, earlier.model == draft.model {
        changes.append(.replaced(earlier, draft))
      } else {
        changes.append(.added(draft))
        if let earlier { changes.append(.removed(earlier)) }
      }
    }
    return changes + old.dropFirst(new.count).map { .removed($0) }
  }
}
