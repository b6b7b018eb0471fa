import Foundation
import HTTPCaching
import ReactorCore
import Synchronization

/// The newest value of each entity that a copy of the layer holds, with the number of the request
/// or the write that brought it.
///
/// The table is not a store: it has only entities that a copy contains, and is never on disk.
/// Copies keep the values that they arrived with, and the shown values are computed from both. The
/// order of locks is engine, table, draft; no user code runs under it.
///
/// An accepted draft of an entity lives here until a newer value has its change, or until the table
/// forgets the id.
package final class EntityTable: Sendable {
  private struct Slot {
    let id: EntityID
    /// The number of copies that hold the place.
    var holders: Int
    /// The newest value; `nil` if the entity is gone, or nothing is known.
    var newest: AnyModel?
    /// The place of the newest value; `nil` if nothing is known.
    var stamp: EntityStamp?
    /// The version of the latest change.
    var changed: UInt64
    /// The keys with streams that show the entity.
    var watchers: [RecordKey: Int] = [:]
  }

  /// The parts that concern every entity of a type.
  private struct Kind {
    var drafts: [EntityID: [Draft]] = [:]
    /// The version of the latest change of a draft.
    var changed: UInt64 = 0
    var watchers: [RecordKey: Int] = [:]
  }

  private struct State {
    /// The number of removals of everything.
    var epoch = 0
    var slots: [Slot?] = []
    var free: [Int] = []
    var places: [EntityID: Int] = [:]
    var kinds: [ObjectIdentifier: Kind] = [:]
    /// The latest values, removals and accepted drafts that no copy has brought, oldest first.
    var said: [EntityMembers] = []
    /// The numbered stamp with the latest date.
    var latest: EntityStamp?

    /// Takes out the accepted drafts of an entity that were accepted before `number`.
    mutating func takeAccepted(of id: EntityID, before number: Generation) -> [Draft] {
      guard let drafts = kinds[id.type]?.drafts[id] else { return [] }
      let isOver = { (draft: Draft) in draft.acceptedUnder.map { $0 < number } ?? false }
      let rest = drafts.filter { !isOver($0) }
      kinds[id.type]?.drafts[id] = rest.isEmpty ? nil : rest
      return drafts.filter(isOver)
    }

    /// Returns `stamp` with a date that is not before the dates of earlier numbers.
    mutating func ordered(_ stamp: EntityStamp) -> EntityStamp {
      guard stamp.number > 0 else { return stamp }
      let stamp = stamp.after(latest)
      if latest.map({ stamp.askedAt > $0.askedAt }) ?? true { latest = stamp }
      return stamp
    }
  }

  private let state = Mutex(State())
  /// The drafts of the layer.
  private let drafts: DraftTable
  private let latest = Atomic<UInt64>(0)
  /// The number of values, removals and accepted drafts that are kept for requests that are under
  /// way and records that are yet to be loaded, although no copy holds the id.
  package static let saidLimit = 256

  package convenience init() { self.init(DraftTable()) }

  init(_ drafts: DraftTable) { self.drafts = drafts }

  /// A number that increases with each change.
  var version: UInt64 { latest.load(ordering: .acquiring) }

  /// The number of removals of everything.
  var epoch: Int { state.withLock(\.epoch) }

  private func nextVersion() -> UInt64 { latest.add(1, ordering: .acquiringAndReleasing).newValue }

  /// Returns the places of entities for a model that holds them, and their newest values. The
  /// caller makes ``EntityMembers`` of the places, which releases them.
  func retain(_ ids: [EntityID]) -> (handles: [Int], newest: [AnyModel?]) {
    state.withLock { state in
      var (handles, newest): ([Int], [AnyModel?]) = ([], [])
      for id in ids {
        let handle = state.places[id] ?? state.free.popLast() ?? state.slots.count
        if handle == state.slots.count { state.slots.append(nil) }
        if state.slots[handle] == nil {
          state.slots[handle] = Slot(id: id, holders: 0, changed: 0)
          state.places[id] = handle
        }
        state.slots[handle]?.holders += 1
        handles.append(handle)
        newest.append(state.slots[handle]?.newest)
      }
      return (handles, newest)
    }
  }

  func release(_ handles: [Int]) {
    let (released, over) = state.withLock { state in
      var (released, over): ([AnyModel?], [Draft]) = ([], [])
      for handle in handles {
        state.slots[handle]?.holders -= 1
        guard let slot = state.slots[handle], slot.holders == 0 else { continue }
        released.append(slot.newest)
        over += state.takeAccepted(of: slot.id, before: .max)
        state.places[slot.id] = nil
        state.slots[handle] = nil
        state.free.append(handle)
      }
      return (released, over)
    }
    withExtendedLifetime(released) { drafts.remove(over) }
  }

  /// Records the values of a model that was put into memory; without values, that the entities are
  /// gone. Each becomes the newest value of its entity, unless a request or write that began later
  /// has brought another.
  ///
  /// - Parameter epoch: The epoch in which the values were requested. If everything was removed
  ///   since, nothing is recorded; `nil` always records.
  func note(_ members: EntityMembers, _ stamp: EntityStamp, askedIn epoch: Int? = nil) -> PresentationNews {
    let (noted, over) = state.withLock { state in
      var (change, over): (PresentationNews, [Draft]) = (PresentationNews(), [])
      guard epoch ?? state.epoch == state.epoch else { return (change, over) }
      let version = nextVersion()
      let stamp = state.ordered(stamp)
      for (index, handle) in members.handles.enumerated() {
        guard var slot = state.slots[handle] else { continue }
        guard slot.stamp.map({ stamp.isNewer(than: $0) }) ?? true else {
          state.slots[handle]?.stamp = slot.stamp?.after(stamp)
          continue
        }
        let value = members.values.isEmpty ? nil : members.values[index]
        let isSame = value.map { value in slot.newest.map { $0.isSame(as: value) } ?? (slot.stamp == nil) } ?? false
        let hasDrafts = state.kinds[slot.id.type]?.drafts[slot.id] != nil
        over += state.takeAccepted(of: slot.id, before: stamp.ended)
        if let old = slot.newest { change.released.append(old) }
        if !isSame || hasDrafts { change.keys.formUnion(slot.watchers.keys) }
        if hasDrafts {
          // A draft of a list may have inserted it.
          change.keys.formUnion(state.kinds[slot.id.type]?.watchers.keys ?? [:].keys)
          state.kinds[slot.id.type]?.changed = version
        }
        (slot.newest, slot.stamp, slot.changed) = (value, stamp, version)
        state.slots[handle] = slot
      }
      return (change, over)
    }
    drafts.remove(over)
    var change = noted
    change.released += over
    return change
  }

  /// Keeps the places of values that a write has brought, for requests that are under way.
  func keep(_ members: EntityMembers, askedIn epoch: Int? = nil) {
    let old = state.withLock { state -> EntityMembers? in
      guard epoch ?? state.epoch == state.epoch else { return members }
      state.said.append(members)
      return state.said.count > Self.saidLimit ? state.said.removeFirst() : nil
    }
    withExtendedLifetime(old) {}
  }

  /// Keeps the positions of entity drafts that are about to be accepted, since an accepted draft is
  /// dropped with its position.
  func keepPlaces(of drafts: [Draft]) {
    for draft in drafts where draft.isListed {
      guard let id = draft.entity else { continue }
      keep(EntityMembers(retain([id]).handles, [], in: self, arrivedAt: .distantPast))
    }
  }

  /// Adds or removes the interest of a key with streams.
  func watch(_ members: [EntityMembers], _ type: ObjectIdentifier?, by key: RecordKey, _ count: Int) {
    func adjust(_ watchers: inout [RecordKey: Int]) {
      let left = (watchers[key] ?? 0) + count
      watchers[key] = left > 0 ? left : nil
    }
    state.withLock { state in
      for handle in members.lazy.flatMap(\.handles) {
        guard var slot = state.slots[handle] else { continue }
        adjust(&slot.watchers)
        state.slots[handle] = slot
      }
      if let type { adjust(&state.kinds[type, default: Kind()].watchers) }
    }
  }

  /// Adds, replaces, accepts or removes the draft of an entity.
  ///
  /// - Returns: the keys with streams that show the entity, or may show it.
  func drafted(_ change: DraftChange) -> Set<RecordKey> {
    guard let id = change.draft.entity else { return [] }
    let (keys, dropped) = state.withLock { state -> (Set<RecordKey>, [Draft]) in
      let version = nextVersion()
      var kind = state.kinds[id.type] ?? Kind()
      let old = kind.drafts[id] ?? []
      // Drafts that `removeAll` removed go, too.
      var drafts = old.filter { $0.isListed && $0 !== change.draft }
      let isListed = change.draft.isListed
      switch change {
      case .added(let draft): if isListed { drafts.append(draft) }
      // A newer value may have dropped it already.
      case .accepted(let draft): if isListed, old.contains(where: { $0 === draft }) { drafts.append(draft) }
      case .replaced(let old, let new):
        drafts.removeAll { $0 === old }
        if isListed { drafts.append(new) }
      case .removed: break
      }
      kind.drafts[id] = drafts.isEmpty ? nil : drafts
      kind.changed = version
      var keys = Set(kind.watchers.keys)
      if let handle = state.places[id] {
        state.slots[handle]?.changed = version
        keys.formUnion(state.slots[handle]?.watchers.keys ?? [:].keys)
      }
      state.kinds[id.type] = kind
      return (keys, old)
    }
    withExtendedLifetime(dropped) {}
    return keys
  }

  /// Forgets everything: the user has signed out.
  func removeAll() {
    let dropped = state.withLock { state -> ([AnyModel?], [EntityMembers], [ObjectIdentifier: Kind]) in
      let version = nextVersion()
      let dropped = (state.slots.map { $0?.newest }, state.said, state.kinds)
      for handle in state.slots.indices where state.slots[handle] != nil {
        state.slots[handle]?.newest = nil
        state.slots[handle]?.stamp = nil
        state.slots[handle]?.changed = version
      }
      state.said = []
      state.epoch += 1
      for type in state.kinds.keys { state.kinds[type]?.drafts = [:] }
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  /// The newest value of an entity; `nil` if nothing is known.
  func newest(of id: EntityID) -> View.Newest? {
    state.withLock { state in
      guard let handle = state.places[id], let slot = state.slots[handle], let stamp = slot.stamp else { return nil }
      return View.Newest(model: slot.newest, ended: stamp.ended)
    }
  }

  /// The number of entities that a copy holds.
  package var count: Int { state.withLock { $0.places.count } }
}

extension EntityTable {
  /// The parts of the table that change what a copy shows.
  struct View: Sendable {
    struct Newest: Sendable {
      /// The value; `nil` if the entity is gone.
      var model: AnyModel?
      /// ``EntityStamp/ended``
      var ended: Generation
    }

    var version: UInt64
    /// The newest values of the members that the copy has older values of.
    var values: [EntityID: Newest] = [:]
    /// The drafts of entities that the copy holds or, once its own drafts are applied, may hold.
    var drafts: [Draft] = []
  }

  /// Returns what changes a copy.
  ///
  /// - Parameters:
  ///   - isOpen: `true` if drafts of the copy may insert entities.
  ///   - version: the version of the result that the caller has; `nil` if it has none.
  /// - Returns: the current version, and the parts; `nil` for the parts if none has changed since.
  func view(
    of members: EntityMembers?, _ type: ObjectIdentifier, isOpen: Bool, since version: UInt64?
  ) -> (version: UInt64, view: View?) {
    state.withLock { state in
      let now = self.version
      let handles = members?.handles ?? []
      let kind = state.kinds[type]
      if let version {
        let isChanged = isOpen && kind?.changed ?? 0 > version
        if !isChanged, !handles.contains(where: { state.slots[$0]?.changed ?? 0 > version }) { return (now, nil) }
      }
      var view = View(version: now)
      if let kind, !kind.drafts.isEmpty {
        view.drafts =
          isOpen
          ? kind.drafts.values.flatMap(\.self)
          : handles.flatMap { handle in state.slots[handle].flatMap { kind.drafts[$0.id] } ?? [] }
        view.drafts.removeAll { !$0.isListed }
      }
      let isPlain = view.drafts.isEmpty && !isOpen
      let own = members?.stamp
      for (index, handle) in handles.enumerated() {
        guard let slot = state.slots[handle], let stamp = slot.stamp, own.map({ stamp.isNewer(than: $0) }) ?? true,
          let value = members?.values[index],
          !isPlain || slot.newest.map({ !$0.isSame(as: value) }) ?? true
        else { continue }
        view.values[slot.id] = View.Newest(model: slot.newest, ended: stamp.ended)
      }
      return (now, view)
    }
  }
}
