package import Foundation
package import HTTPCaching
import ReactorCore
import Synchronization

/// A requested change, shown over a cached value until the server's own value contains it.
///
/// A draft is a function, not a value: it is applied to each new base. Nothing is ever undone. The
/// next computation simply leaves out a refused draft.
package final class Draft: Sendable {
  /// The number of the write. The drafts of one write on several keys share it.
  package let id: UUID
  /// The key of the value. The draft of an entity has a key that no resource has.
  package let key: RecordKey
  /// The entity whose value changes, wherever it is shown; `nil` for a draft of one resource.
  package let entity: EntityID?
  /// The type of the values that it applies to.
  let model: ObjectIdentifier
  private let body: @Sendable (AnyModel?) -> AnyModel?
  private let state = Mutex(State())

  private struct State {
    var order: UInt64 = 0
    var accepted: Generation?
    var isListed = false
    var isOnDisk = false
  }

  /// Creates a draft of a value that may be absent.
  ///
  /// - Parameter body: returns the changed value; `nil` for none. It runs without a lock, on the
  ///   executor of the first reader, and again for each newer base.
  package init<Model: Sendable>(
    id: UUID, key: RecordKey, of model: Model.Type, _ body: @escaping @Sendable (Model?) -> Model?
  ) {
    self.id = id
    self.key = key
    entity = nil
    self.model = ObjectIdentifier(model)
    self.body = { base in body(base?.model(as: Model.self)).map { AnyModel($0) } }
  }

  /// Creates a draft of an entity, in every copy that holds it.
  ///
  /// - Parameter body: returns the changed value; `nil` to remove the entity from each copy.
  package init<E: Entity>(
    id: UUID, entity: E.ID, of type: E.Type, _ body: @escaping @Sendable (E) -> E?
  ) {
    self.id = id
    key = RecordKey(method: .get, url: "entity:\(type)/\(entity)")
    self.entity = EntityID(entity, of: type)
    model = ObjectIdentifier(type)
    self.body = { base in base.flatMap { body($0.model(as: E.self)) }.map { AnyModel($0) } }
  }

  /// Returns `value` with the change. It calls user code, which may read the value that is being
  /// computed.
  func apply(_ value: AnyModel?) -> AnyModel? { Drawing.applying(self, to: value, body) }

  /// The place in the order of submission; zero before the draft is in a table.
  var order: UInt64 { state.withLock(\.order) }
  /// The generation of the acceptance; `nil` while the draft is pending. A value that was requested
  /// later has the change.
  var acceptedUnder: Generation? { state.withLock(\.accepted) }

  /// A Boolean value that indicates whether the draft is in a table. A key may have thousands of
  /// drafts, too many to search at each acceptance.
  var isListed: Bool { state.withLock(\.isListed) }

  /// A Boolean value that indicates whether the latest record on disk has the accepted change.
  var isOnDisk: Bool { state.withLock(\.isOnDisk) }

  fileprivate func add(at order: UInt64) {
    state.withLock { state in
      state.order = order
      state.isListed = true
    }
  }
  fileprivate func remove() { state.withLock { $0.isListed = false } }
  fileprivate func accept(under number: Generation) { state.withLock { $0.accepted = number } }
  fileprivate func didPersist() { state.withLock { $0.isOnDisk = true } }
}

/// The drafts of a layer, by key.
///
/// A reactor reads a key's drafts when it creates the key's entry, and follows their
/// ``DraftChange``s from then on. The order of locks is engine, table, draft.
final class DraftTable: Sendable {
  private struct State {
    /// Drafts of an earlier process have lower positions than the drafts of this one.
    var lastRestored: UInt64 = 0
    var lastOrder: UInt64 = 1 << 32
    var drafts: [RecordKey: [Draft]] = [:]
    /// The accepted drafts of resources in the order of their acceptance, with the times at which
    /// the table forgets them. ``EntityTable`` expires drafts of entities.
    var accepted: [(draft: Draft, until: Duration)] = []
  }

  private let state = Mutex(State())
  /// The number of keys with drafts. Most layers have none, and need not lock.
  private let count = Atomic<Int>(0)

  /// The time for which an accepted draft is kept for reactors that have yet to load a newer base.
  static let keepsAccepted: Duration = .seconds(600)

  var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

  /// Returns the drafts of `key` for values of one type, in no particular order.
  func drafts(of key: RecordKey, for model: ObjectIdentifier) -> [Draft] {
    guard !isEmpty else { return [] }
    return state.withLock { $0.drafts[key]?.filter { $0.model == model } ?? [] }
  }

  /// Reserves positions for `count` drafts after all others, and returns the first.
  ///
  /// - Parameter isRestored: `true` if an earlier process has made the drafts. They follow each
  ///   other, and precede the drafts of this process.
  func reserve(_ count: Int, isRestored: Bool = false) -> UInt64 {
    state.withLock { state in
      let last = isRestored ? state.lastRestored : state.lastOrder
      if isRestored { state.lastRestored += UInt64(count) } else { state.lastOrder += UInt64(count) }
      return last + 1
    }
  }

  /// Adds pending drafts at reserved places.
  func add(_ drafts: [Draft], at first: UInt64) {
    state.withLock { state in
      for (index, draft) in drafts.enumerated() {
        draft.add(at: first + UInt64(index))
        state.drafts[draft.key, default: []].append(draft)
      }
      count.store(state.drafts.count, ordering: .releasing)
    }
  }

  /// Adds a draft at the place that it had, unless it is in the table.
  ///
  /// - Returns: `false` if it is.
  func addAgain(_ draft: Draft) -> Bool {
    state.withLock { state in
      guard !draft.isListed else { return false }
      draft.add(at: draft.order)
      state.drafts[draft.key, default: []].append(draft)
      count.store(state.drafts.count, ordering: .releasing)
      return true
    }
  }

  /// Turns a pending draft into an accepted one.
  ///
  /// - Parameter time: the time on the layer's clock.
  /// - Returns: `false` if the draft was removed meanwhile.
  func accept(_ draft: Draft, under number: Generation, at time: Duration) -> Bool {
    let (isAccepted, forgotten) = state.withLock { state -> (Bool, [Draft]) in
      let forgotten = state.accepted.prefix { $0.until <= time }.map(\.draft)
      Self.remove(forgotten, from: &state)
      let isHere = draft.isListed
      if isHere {
        draft.accept(under: number)
        if draft.entity == nil { state.accepted.append((draft, time + Self.keepsAccepted)) }
      }
      count.store(state.drafts.count, ordering: .releasing)
      return (isHere, forgotten)
    }
    // Released without the lock: the closures are the user's.
    withExtendedLifetime(forgotten) {}
    return isAccepted
  }

  /// Forgets the accepted drafts of `key` that a newer value has replaced, for good: a reactor that
  /// first uses the key must not apply them again. Reactors with an older value in memory keep them
  /// until they get the newer one.
  ///
  /// - Parameters:
  ///   - number: the number of the request or the write that produced the value.
  ///   - model: the only type that the value is for; `nil` for every type.
  ///   - isOnDisk: `true` if the value is the latest record.
  func didReplace(_ key: RecordKey, _ number: Generation, of model: ObjectIdentifier?, isOnDisk: Bool) {
    guard !isEmpty else { return }
    let forgotten = state.withLock { state -> [Draft] in
      let forgotten = (state.drafts[key] ?? []).filter { draft in
        model ?? draft.model == draft.model && draft.acceptedUnder.map { $0 < number } ?? false
      }
      if isOnDisk { for draft in forgotten { draft.didPersist() } }
      Self.remove(forgotten, from: &state)
      count.store(state.drafts.count, ordering: .releasing)
      return forgotten
    }
    withExtendedLifetime(forgotten) {}
  }

  /// Removes the drafts of several writes, which the caller retains, and adds others, all at once.
  /// If `removeAll` removed the drafts of a write, its new ones only get their positions.
  ///
  /// - Returns: For each write, `false` if its drafts were removed.
  func replace(_ writes: [(old: [Draft], new: [(draft: Draft, place: UInt64)])]) -> [Bool] {
    state.withLock { state in
      let areHere = writes.map { $0.old.isEmpty || $0.old.contains(where: \.isListed) }
      for (write, isHere) in zip(writes, areHere) {
        Self.remove(write.old, from: &state)
        for (draft, place) in write.new {
          draft.add(at: place)
          if isHere { state.drafts[draft.key, default: []].append(draft) } else { draft.remove() }
        }
      }
      count.store(state.drafts.count, ordering: .releasing)
      return areHere
    }
  }

  /// Removes drafts, which the caller retains.
  func remove(_ drafts: [Draft]) {
    guard !drafts.isEmpty else { return }
    state.withLock { state in
      Self.remove(drafts, from: &state)
      count.store(state.drafts.count, ordering: .releasing)
    }
  }

  /// Removes a draft, which the caller retains, unless it is accepted.
  ///
  /// - Returns: `false` if it is accepted, or is not in the table.
  func removePending(_ draft: Draft) -> Bool {
    state.withLock { state in
      guard draft.isListed, draft.acceptedUnder == nil else { return false }
      Self.remove([draft], from: &state)
      count.store(state.drafts.count, ordering: .releasing)
      return true
    }
  }

  func removeAll() {
    let old = state.withLock { state in
      for draft in state.drafts.values.joined() { draft.remove() }
      defer {
        state.drafts = [:]
        state.accepted = []
        count.store(0, ordering: .releasing)
      }
      return (state.drafts, state.accepted)
    }
    withExtendedLifetime(old) {}
  }

  private static func remove(_ drafts: [Draft], from state: inout State) {
    for draft in drafts {
      guard draft.isListed, let index = state.drafts[draft.key]?.firstIndex(where: { $0 === draft }) else { continue }
      draft.remove()
      state.drafts[draft.key]?.remove(at: index)
      if state.drafts[draft.key]?.isEmpty == true { state.drafts[draft.key] = nil }
    }
    if drafts.contains(where: { $0.acceptedUnder != nil }) { state.accepted.removeAll { !$0.draft.isListed } }
  }
}

/// A change of a layer's drafts.
enum DraftChange: Sendable {
  case added(Draft)
  case accepted(Draft)
  case removed(Draft)
  /// The second replaces the first, which has the same key and type.
  case replaced(Draft, Draft)

  var draft: Draft {
    switch self {
    case .added(let draft), .accepted(let draft), .removed(let draft), .replaced(_, let draft): draft
    }
  }
}

extension DraftChange: PresentationChange {
  var key: RecordKey { draft.key }
  var model: ObjectIdentifier { draft.model }
  var isNew: Bool { if case .added = self { true } else { false } }

  func begin(over copy: CachedModel?, by own: (any ModelPresentation)?) -> (any KeyPresentation)? {
    switch self {
    case .added, .replaced: KeyDrafts([draft], over: copy, own as? EntityAccess)
    case .accepted, .removed: nil
    }
  }

  func apply(to changes: any KeyPresentation, over copy: CachedModel?) -> Bool {
    guard let drafts = changes as? KeyDrafts else { return false }
    return switch self {
    case .added: drafts.add(draft, over: copy)
    case .accepted: drafts.accept(draft, over: copy)
    case .removed: drafts.remove(draft, over: copy)
    case .replaced(let old, _): drafts.replace(old, by: draft, over: copy)
    }
  }
}
