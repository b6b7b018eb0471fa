import Foundation
import Synchronization

/// A decoded model with what its freshness needs. Immutable, and one reference to pass.
final class CachedModel: Sendable {
  let key: RecordKey
  let model: AnyModel
  let fetchedAt: Date
  var head: Record.Head? { headBox?.head }
  private let headBox: HeadBox?
  let origin: Origin
  let freshness: Freshness
  /// Bytes of payload that it was made from.
  let cost: Int
  /// ``ClockSteps/lead`` when it came into memory.
  let lead: Double
  /// The number of the request or the write that brought it; zero where it was loaded, since another process may have stored it.
  let generation: Generation

  convenience init(
    _ snapshot: Snapshot<AnyModel>, of key: RecordKey, origin: Origin, cost: Int? = nil, lead: Double = -.infinity,
    generation: Generation = 0
  ) {
    self.init(
      key, snapshot.model, fetchedAt: snapshot.fetchedAt, snapshot.head.map(HeadBox.init),
      origin: snapshot.isLocal && origin == .persistence ? .local : origin, freshness: snapshot.freshness,
      cost: cost ?? snapshot.record?.body.count ?? 0, lead: lead, generation: generation)
  }

  /// By reference, since it is large, and a model that no server has sent has none.
  private final class HeadBox: Sendable {
    let head: Record.Head

    init(head: Record.Head) { self.head = head }
  }

  private init(
    _ key: RecordKey, _ model: AnyModel, fetchedAt: Date, _ headBox: HeadBox?, origin: Origin, freshness: Freshness,
    cost: Int, lead: Double, generation: Generation
  ) {
    self.key = key
    self.model = model
    self.fetchedAt = fetchedAt
    self.headBox = headBox
    self.origin = origin
    self.freshness = freshness
    self.cost = cost
    self.lead = lead
    self.generation = generation
  }

  /// When it was asked for, which decides whether it may know of a change, as it does for answers: one that was under way comes after the
  /// change, and is from before it. A step that says "unchanged" has given it a new ``fetchedAt``; then that counts.
  var askedAt: Date {
    guard let head, head.receivedAt == fetchedAt else { return fetchedAt }
    return min(head.requestedAt, fetchedAt)
  }

  /// Returns `true` where it is newer than `other`, if no generation says so: another process may have stored that, or an
  /// earlier one. The one that was asked for later is newer, even where it arrived earlier. A time in the future is from a
  /// clock that was set back since, and is older than any of the past; but a local value goes only for one that is known to
  /// be newer.
  func isNewer(thanStored other: CachedModel, at now: Date) -> Bool {
    let (isAhead, otherIsAhead) = (askedAt > now, other.askedAt > now)
    guard isAhead == otherIsAhead else { return otherIsAhead || origin == .local }
    if isAhead, origin == .local { return true }
    return (askedAt, fetchedAt) > (other.askedAt, other.fetchedAt)
  }

  /// The same model, declared stale at `date` at the latest.
  func invalidated(at date: Date) -> CachedModel {
    var freshness = freshness
    freshness.invalidatedAt = min(freshness.invalidatedAt ?? date, date)
    return CachedModel(
      key, model, fetchedAt: fetchedAt, headBox, origin: origin, freshness: freshness, cost: cost, lead: lead,
      generation: generation)
  }

  /// Returns whether it holds the very model of `other`, however fresh they are. A 304 confirms
  /// one, and is no new value.
  func isSameValue(as other: CachedModel?) -> Bool { other.map { model.isSame(as: $0.model) } ?? false }

  /// What a flow's step is given: the model without the bytes.
  var snapshot: Snapshot<AnyModel> { Snapshot(model: model, fetchedAt: fetchedAt, head: head) }

  /// Returns whether a resource with these header fields is answered by it (RFC 9111 §4.1).
  func isSelected(by resource: Resource) -> Bool { head?.variant?.matches(resource.headers) ?? true }

  /// Returns whether it may be shown outside of the stream that it arrived in.
  func isVisible(to resource: Resource) -> Bool { !freshness.isNoStore && isSelected(by: resource) }

  /// Returns whether no resource is answered by both this copy and a record of `variant`, as far as
  /// that is known.
  func isAnotherVariant(than variant: Variant?) -> Bool {
    guard let own = head?.variant, let variant, own.isMatchable, own.names == variant.names else { return false }
    return own != variant
  }

  /// Returns whether it is known to be another variant than the one that `resource` asks for. With
  /// `Vary: *` it never is: whoever waits or watches while it arrives may have it.
  func isAnotherVariant(for resource: Resource) -> Bool {
    head?.variant?.names != ["*"] && !isSelected(by: resource)
  }
}

extension Snapshot {
  /// Returns whether a resource with these header fields is answered by it (RFC 9111 §4.1).
  func isSelected(by resource: Resource) -> Bool { head?.variant?.matches(resource.headers) ?? true }
}

/// How long copies are fresh by a reactor's configuration.
struct FreshnessRule: Sendable {
  /// Seconds, where neither the resource nor the response says anything.
  let fallback: Double
  /// Seconds.
  let staleIfError: Double
  let steps: ClockSteps

  /// The status of a copy for `resource`; `nil` where it may not be kept, or is another variant.
  func status(of copy: CachedModel, for resource: Resource, at now: Date) -> CopyStatus? {
    copy.isSelected(by: resource) ? status(ofSelected: copy, for: resource, at: now) : nil
  }

  /// The same of a copy that is known to answer the resource.
  func status(ofSelected copy: CachedModel, for resource: Resource, at now: Date) -> CopyStatus? {
    copy.freshness.status(
      at: now, setBack: steps.setBack(since: copy.lead), freshFor: resource.freshFor?.inSeconds, fallback: fallback,
      staleIfError: staleIfError)
  }

  /// Seconds for which a copy is fresh from now on; `nil` where it is stale, or is none for `resource`.
  func rest(_ copy: CachedModel, for resource: Resource, at now: Date) -> Double? {
    guard copy.isSelected(by: resource) else { return nil }
    return copy.freshness.rest(
      at: now, setBack: steps.setBack(since: copy.lead), freshFor: resource.freshFor?.inSeconds, fallback: fallback)
  }
}

/// A model whose type only its reactor knows: one reference, whatever its size.
///
/// Nothing beneath ``Reactor`` is generic. What another module makes a generic type of is not specialized for it, and asks for metadata at
/// each step; so what opens the box is inlinable there.
@usableFromInline struct AnyModel: Sendable {
  @usableFromInline let box: any AnyObject & Sendable

  init<Model: Sendable>(_ model: Model) { box = Box(model) }

  /// The model of a box that ``box`` gave.
  init(in box: any AnyObject & Sendable) { self.box = box }

  /// Returns whether both are one model: not an equal one, but the one that was parsed, written or
  /// loaded once.
  func isSame(as other: AnyModel) -> Bool { box === other.box }

  /// The model of the reactor that it belongs to.
  ///
  /// - Parameter type: what it was made of: to ask takes as long as the rest of a hit, and each reactor has one type. Said in full, since
  ///   an optional chain may infer the optional. Checked in debug builds.
  @inlinable func model<Model: Sendable>(as type: Model.Type) -> Model {
    unsafeDowncast(box, to: Box<Model>.self).model
  }

  @usableFromInline final class Box<Model: Sendable>: Sendable {
    @usableFromInline let model: Model
    init(_ model: Model) { self.model = model }
  }
}

/// A way for a flow's steps to ask its reactor's memory for the model that was made from a record, so that the bytes need not be parsed
/// again. Empty until a reactor runs the flow.
final class DecodedModelLookup: Sendable {
  typealias Find = @Sendable (RecordKey) -> CachedModel?

  /// A function that is the whole of what a lock holds would be wrapped anew whenever the lock gives it out, and stay so.
  private struct Memory {
    var find: Find
  }

  private let memory = Mutex<Memory?>(nil)

  func connect(_ find: @escaping Find) { memory.withLock { $0 = Memory(find: find) } }

  /// The model in memory, if it was made from this very exchange.
  func model(of key: RecordKey, from head: Record.Head) -> AnyModel? {
    guard let copy = memory.withLock({ $0 })?.find(key), let own = copy.head, own.isSameExchange(as: head)
    else { return nil }
    return copy.model
  }
}
