import Foundation
import ReactorCore
import Synchronization

/// A base with drafts and newer values of its entities applied. It is computed by the first reader,
/// without a lock, and once for all of them.
final class DraftedModel: PresentedValue {
  private let base: AnyModel?
  private let members: EntityMembers?
  private let entities: EntityAccess?
  private let drafts: [Draft]
  private let isConfirmed: Bool
  /// The result without the last draft, if it was computed.
  private let earlier: DraftedOutput?
  private let result = Mutex<DraftedOutput?>(nil)

  /// - Parameters:
  ///   - entities: the access to the entities of the model; `nil` if it has none.
  ///   - isConfirmed: `true` to leave out pending drafts of entities.
  convenience init(
    _ base: CachedModel?, _ drafts: [Draft], _ entities: EntityAccess? = nil, isConfirmed: Bool = false
  ) {
    self.init(base?.model, base?.entities?.members, drafts, entities, isConfirmed: isConfirmed)
  }

  convenience init(_ base: AnyModel, _ members: EntityMembers, _ entities: EntityAccess) {
    self.init(base, members, [], entities)
  }

  private init(
    _ base: AnyModel?, _ members: EntityMembers?, _ drafts: [Draft], _ entities: EntityAccess?,
    isConfirmed: Bool = false, earlier: DraftedOutput? = nil
  ) {
    self.base = base
    self.members = members
    self.entities = entities
    self.drafts = drafts
    self.isConfirmed = isConfirmed
    self.earlier = earlier
  }

  /// The value with its drafts; `nil` if a draft has removed it, or there is no value.
  var model: AnyModel? { output.model }

  var shown: Shown {
    let output = output
    return Shown(model: output.model, pending: output.pending.map(\.id))
  }

  /// The value with its drafts and the newest values of its entities.
  var output: DraftedOutput {
    let isNested = Drawing.isNested
    if isNested, let beneath = Drawing.beneath(self, drafts.first) { return DraftedOutput(model: beneath) }
    let known = result.withLock(\.self)
    if let known, known.version == entities?.table.version ?? 0 { return known }
    let output = entities == nil ? computed(known) : Drawing.of(self, base) { computed(known) }
    if isNested { return output }
    // Two readers may compute it at once. The first result counts, so that all show the same
    // instance.
    return result.withLock { result in
      if let known = result, known.version >= output.version { return known }
      result = output
      return output
    }
  }

  private func computed(_ known: DraftedOutput?) -> DraftedOutput {
    guard let entities else { return DraftedOutput(model: drafts.reduce(base) { $1.apply($0) }) }
    let start = known ?? earlier
    var (version, view) = entities.table.view(
      of: members, entities.type, isOpen: !drafts.isEmpty, since: start?.version)
    if view == nil, var output = start {
      output.version = version
      if known != nil { return output }
      if let last = drafts.last, last.order > output.lastOrder {
        (output.model, output.lastOrder) = (last.apply(output.model), last.order)
        return output
      }
      view = entities.table.view(of: members, entities.type, isOpen: !drafts.isEmpty, since: nil).view
    }
    return entities.output(
      base, members, drafts, view ?? EntityTable.View(version: version), isConfirmed: isConfirmed)
  }

  /// Returns this value with another pending draft, the last one. What is computed already is not
  /// computed again.
  func adding(_ draft: Draft) -> DraftedModel {
    let known = result.withLock(\.self)
    if entities != nil { return DraftedModel(base, members, drafts + [draft], entities, earlier: known) }
    if let known { return DraftedModel(known.model, nil, [draft], nil) }
    return DraftedModel(base, nil, drafts + [draft], nil)
  }
}

/// The drafts over one key's copy in one reactor. Guarded by the reactor's lock; most keys have
/// none.
///
/// The shown value is the base, then the accepted drafts in the order of their acceptance, then the
/// pending drafts in the order of their submission.
final class KeyDrafts: KeyPresentation {
  private var accepted: [Draft] = []
  private var pending: [Draft] = []
  private var drafted: DraftedModel
  private var dropped: [any Sendable] = []
  private let entities: EntityAccess?

  init(_ drafts: [Draft], over base: CachedModel?, _ entities: EntityAccess?) {
    self.entities = entities
    drafted = DraftedModel(nil, [])
    for draft in drafts { place(draft) }
    redraw(over: base)
  }

  var isEmpty: Bool { accepted.isEmpty && pending.isEmpty }
  var shown: any PresentedValue { drafted }
  var belongings: [any Sendable] { all }
  var pendingIDs: [UUID] { pending.map(\.id) }
  private var all: [Draft] { accepted + pending }
  var acceptedIDs: Set<UUID> { Set(accepted.map(\.id)) }

  /// The base with only the accepted drafts.
  func confirmed(over base: CachedModel?) -> any PresentedValue {
    DraftedModel(base, accepted, entities, isConfirmed: true)
  }

  /// Returns another copy with the same drafts: a variant that one stream shows.
  func drawn(over other: CachedModel?) -> any PresentedValue { DraftedModel(other, all, entities) }

  /// Adds a draft, unless it is here already.
  ///
  /// - Returns: `true` if the shown value may have changed.
  func add(_ draft: Draft, over base: CachedModel?) -> Bool {
    guard draft.acceptedUnder == nil, pending.last.map({ $0.order < draft.order }) ?? true else {
      guard !all.contains(where: { $0 === draft }) else { return false }
      place(draft)
      redraw(over: base)
      return true
    }
    pending.append(draft)
    drafted = drafted.adding(draft)
    return true
  }

  /// Moves a draft that the server has accepted. For the oldest pending draft, the functions and
  /// their order stay the same, so nothing is computed.
  ///
  /// - Returns: `true` if the shown value may have changed.
  func accept(_ draft: Draft, over base: CachedModel?) -> Bool {
    guard let number = draft.acceptedUnder, let index = pending.firstIndex(where: { $0 === draft }) else {
      return false
    }
    pending.remove(at: index)
    let isLast = accepted.last?.acceptedUnder.map { $0 < number } ?? true
    place(draft)
    guard index > 0 || !isLast else { return false }
    redraw(over: base)
    return true
  }

  /// Puts a draft in the place of another.
  ///
  /// - Returns: `true` if the shown value may have changed.
  func replace(_ old: Draft, by new: Draft, over base: CachedModel?) -> Bool {
    accepted.removeAll { $0 === old }
    pending.removeAll { $0 === old }
    guard !all.contains(where: { $0 === new }) else { return false }
    place(new)
    redraw(over: base)
    return true
  }

  func remove(_ draft: Draft, over base: CachedModel?) -> Bool {
    let count = accepted.count + pending.count
    pending.removeAll { $0 === draft }
    accepted.removeAll { $0 === draft }
    guard accepted.count + pending.count < count else { return false }
    redraw(over: base)
    return true
  }

  /// Removes the drafts that the layer has removed with everything else.
  func dropRemoved(over base: CachedModel?) -> Bool {
    let old = all.filter { !$0.isListed }
    guard !old.isEmpty else { return false }
    accepted.removeAll { !$0.isListed }
    pending.removeAll { !$0.isListed }
    dropped += old
    redraw(over: base)
    return true
  }

  /// Puts the drafts over a new base, without the accepted ones that the base has: it was requested
  /// or written after their acceptance.
  ///
  /// - Returns: `true` if the shown value may have changed.
  func rebase(on base: CachedModel?, isNewValue: Bool) -> Bool {
    let number = base?.generation ?? 0
    let isFewer = drop { $0.acceptedUnder ?? .max <= number }
    guard isFewer || isNewValue else { return false }
    redraw(over: base)
    return true
  }

  /// Drops the accepted drafts that a loaded base has.
  ///
  /// Dates decide nothing here: a clock that was set would show less than the server has accepted.
  /// A draft that the base has already makes no difference, and the next response drops it.
  ///
  /// - Parameters:
  ///   - number: the number of the latest change on disk when the base was read; zero if unknown.
  ///   - isLatest: `true` if nothing has been stored since.
  func rebase(onLoaded base: CachedModel?, from number: Generation, isLatest: Bool) -> Bool {
    let isFewer = drop { $0.acceptedUnder ?? .max <= number || isLatest && $0.isOnDisk }
    if isFewer { redraw(over: base) }
    return isFewer
  }

  /// Returns the drafts that were dropped since the last call, to be released without the lock.
  func consumeDropped() -> [any Sendable] {
    defer { dropped = [] }
    return dropped
  }

  private func drop(where isInBase: (Draft) -> Bool) -> Bool {
    // In the order of acceptance, so the ones to drop come first. There may be thousands.
    let old = accepted.prefix(while: isInBase)
    guard !old.isEmpty else { return false }
    dropped += old.map { $0 as any Sendable }
    accepted.removeFirst(old.count)
    return true
  }

  private func redraw(over base: CachedModel?) { drafted = DraftedModel(base, all, entities) }

  private func place(_ draft: Draft) {
    if let number = draft.acceptedUnder {
      let index = accepted.lastIndex { $0.acceptedUnder ?? 0 < number }.map { $0 + 1 } ?? 0
      accepted.insert(draft, at: index)
    } else {
      let index = pending.lastIndex { $0.order < draft.order }.map { $0 + 1 } ?? 0
      pending.insert(draft, at: index)
    }
  }
}
