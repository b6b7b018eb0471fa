package import Foundation
import Synchronization

/// A decoded model with the metadata that its freshness needs. Immutable, and passed as one
/// reference.
package final class CachedModel: Sendable {
  package let key: RecordKey
  package let model: AnyModel
  let fetchedAt: Date
  var head: Record.Head? { extras?.head }
  /// The part that another module has added; `nil` if the model's type has none.
  package var presented: (any PresentedCopy)? { extras?.presented }
  private let extras: Extras?
  let origin: Origin
  /// A Boolean value that indicates whether the copy is not saved, or not yet, so that the disk may
  /// have an older record. Beside another byte, it takes no room.
  private let unsaved: Atomic<Bool>
  let freshness: Freshness
  /// The size in bytes of the payload that the model was made from.
  let cost: Int
  /// The ``ClockSteps/lead`` when the copy entered memory.
  let lead: Double
  /// The number of the request or the write that produced the copy. Zero for a loaded copy, since
  /// another process may have stored it.
  package var generation: Generation { number & Self.isLoaded == 0 ? number : 0 }
  /// ``generation``; of a loaded copy, the latest number when it arrived, with a mark.
  private let number: Generation
  private static let isLoaded: Generation = 1 << 63

  convenience init(
    _ snapshot: Snapshot<AnyModel>, of key: RecordKey, origin: Origin, cost: Int? = nil, lead: Double = -.infinity,
    generation: Generation = 0, arrivedAfter arrival: Generation = 0
  ) {
    self.init(
      key, snapshot.model, fetchedAt: snapshot.fetchedAt, Extras(snapshot),
      origin: snapshot.isLocal && origin == .persistence ? .local : origin, freshness: snapshot.freshness,
      cost: cost ?? snapshot.record?.body.count ?? 0, lead: lead, isUnsaved: false,
      number: arrival > 0 ? arrival | Self.isLoaded : generation)
  }

  /// A class, since the head is large, and a local model has none.
  private final class Extras: Sendable {
    let head: Record.Head?
    let presented: (any PresentedCopy)?

    init?(_ snapshot: Snapshot<AnyModel>) {
      guard snapshot.head != nil || snapshot.presented != nil else { return nil }
      head = snapshot.head
      presented = snapshot.presented as? any PresentedCopy
    }
  }

  private init(
    _ key: RecordKey, _ model: AnyModel, fetchedAt: Date, _ extras: Extras?, origin: Origin, freshness: Freshness,
    cost: Int, lead: Double, isUnsaved: Bool, number: Generation
  ) {
    self.key = key
    self.model = model
    self.fetchedAt = fetchedAt
    self.extras = extras
    self.origin = origin
    self.freshness = freshness
    self.cost = cost
    self.lead = lead
    unsaved = Atomic(isUnsaved)
    self.number = number
  }

  var isUnsaved: Bool { unsaved.load(ordering: .relaxed) }

  /// A Boolean value that indicates whether the server has forbidden to store the response.
  package var mustNotBeStored: Bool { freshness.isNoStore }

  /// Notes whether the copy is saved.
  func note(isSaved: Bool) { unsaved.store(!isSaved, ordering: .relaxed) }

  /// The latest number when a loaded copy arrived; `nil` for any other copy.
  package var arrivedAfter: Generation? {
    if number & Self.isLoaded != 0 { return number & ~Self.isLoaded }
    return number == 0 ? 0 : nil
  }

  /// Returns `true` if a request of this number was sent after a copy was loaded into memory. The
  /// response is then newer than the copy, whatever the dates say.
  func arrived(before number: Generation) -> Bool {
    self.number & Self.isLoaded != 0 && self.number & ~Self.isLoaded < number
  }

  /// The time of the request, which decides whether the copy can reflect a change. A response that
  /// was under way during a change arrives after it, but is from before it. A step that reports an
  /// unchanged model renews ``fetchedAt``, which then counts.
  package var askedAt: Date {
    guard let head, head.receivedAt == fetchedAt else { return fetchedAt }
    return min(head.requestedAt, fetchedAt)
  }

  /// Returns `true` if this copy is newer than `other`, for copies that no generation orders:
  /// another process may have stored either.
  ///
  /// The copy that was requested later is newer, even if it arrived earlier. A date in the future
  /// is from a clock that was set back since, and is older than any date in the past. A local value
  /// yields only to a copy that is known to be newer. A copy that is not saved is newer than the
  /// record in its place, whatever the dates say.
  func isNewer(thanStored other: CachedModel, at now: Date) -> Bool {
    if isUnsaved { return true }
    let (isAhead, otherIsAhead) = (askedAt > now, other.askedAt > now)
    guard isAhead == otherIsAhead else { return otherIsAhead || origin == .local }
    if isAhead, origin == .local { return true }
    return (askedAt, fetchedAt) > (other.askedAt, other.fetchedAt)
  }

  /// Returns the same model, marked stale as of `date` or earlier.
  func invalidated(at date: Date) -> CachedModel {
    var freshness = freshness
    freshness.invalidatedAt = min(freshness.invalidatedAt ?? date, date)
    return CachedModel(
      key, model, fetchedAt: fetchedAt, extras, origin: origin, freshness: freshness, cost: cost, lead: lead,
      isUnsaved: isUnsaved, number: number)
  }

  /// Returns the same exchange with another model: the model with the changes over it.
  func showing(_ model: AnyModel) -> CachedModel {
    CachedModel(
      key, model, fetchedAt: fetchedAt, extras, origin: origin, freshness: freshness, cost: cost, lead: lead,
      isUnsaved: isUnsaved, number: number)
  }

  /// Returns `true` if both copies hold the same instance of a model, however fresh they are. A 304
  /// confirms a model and is not a new value.
  func isSameValue(as other: CachedModel?) -> Bool { other.map { model.isSame(as: $0.model) } ?? false }

  /// The snapshot for a flow's steps: the model without its bytes.
  var snapshot: Snapshot<AnyModel> { Snapshot(model: model, fetchedAt: fetchedAt, head: head) }

  /// Returns `true` if this copy answers a resource with these header fields (RFC 9111 §4.1).
  func isSelected(by resource: Resource) -> Bool { head?.variant?.matches(resource.headers) ?? true }

  /// Returns `true` if the copy may be shown outside of the stream in which it arrived.
  func isVisible(to resource: Resource) -> Bool { !freshness.isNoStore && isSelected(by: resource) }

  /// Returns `true` if it is known that no resource is answered by both this copy and a record of
  /// `variant`.
  func isAnotherVariant(than variant: Record.Variant?) -> Bool {
    guard let own = head?.variant, let variant, own.isMatchable, own.names == variant.names else { return false }
    return own != variant
  }

  /// Returns `true` if the copy is known to be another variant than the one that `resource`
  /// requests. With `Vary: *` it never is: callers that wait for it or observe it as it arrives may
  /// use it.
  func isAnotherVariant(for resource: Resource) -> Bool {
    head?.variant?.names != ["*"] && !isSelected(by: resource)
  }
}

extension Snapshot {
  /// Returns `true` if this snapshot answers a resource with these header fields (RFC 9111 §4.1).
  func isSelected(by resource: Resource) -> Bool { head?.variant?.matches(resource.headers) ?? true }
}

/// The freshness settings of a reactor's configuration.
struct FreshnessRule: Sendable {
  /// Seconds of freshness if neither the resource nor the response sets a lifetime.
  let fallback: Double
  /// Seconds for which a stale copy may serve as a fallback for an error.
  let staleIfError: Double
  let steps: ClockSteps

  /// Returns the status of a copy for `resource`; `nil` if it may not be stored or is another
  /// variant.
  func status(of copy: CachedModel, for resource: Resource, at now: Date) -> CopyStatus? {
    copy.isSelected(by: resource) ? status(ofSelected: copy, for: resource, at: now) : nil
  }

  /// Returns the status of a copy that is known to answer `resource`.
  func status(ofSelected copy: CachedModel, for resource: Resource, at now: Date) -> CopyStatus? {
    copy.freshness.status(
      at: now, setBack: steps.setBack(since: copy.lead), freshFor: resource.freshFor?.inSeconds, fallback: fallback,
      staleIfError: staleIfError)
  }

  /// Returns the seconds for which a copy remains fresh; `nil` if it is stale or does not answer
  /// `resource`.
  func rest(_ copy: CachedModel, for resource: Resource, at now: Date) -> Double? {
    guard copy.isSelected(by: resource) else { return nil }
    return copy.freshness.rest(
      at: now, setBack: steps.setBack(since: copy.lead), freshFor: resource.freshFor?.inSeconds, fallback: fallback)
  }
}

/// A model without its static type: one reference, whatever its size.
///
/// No type beneath ``Reactor`` is generic. A generic type of this module is not specialized for a
/// type of another module, and looks up metadata at each step. The code that opens the box is
/// inlinable for that reason.
@usableFromInline package struct AnyModel: Sendable {
  @usableFromInline let box: any AnyObject & Sendable

  package init<Model: Sendable>(_ model: Model) { box = Box(model) }

  /// Wraps a box that was read from ``box``.
  init(in box: any AnyObject & Sendable) { self.box = box }

  /// Returns `true` if both are the same instance. Equal models that were parsed separately are
  /// not.
  package func isSame(as other: AnyModel) -> Bool { box === other.box }

  /// Returns a closure that compares two models of a type. It calls user code.
  package static func equality<T: Equatable & Sendable>(of _: T.Type) -> @Sendable (AnyModel, AnyModel) -> Bool {
    { $0.model(as: T.self) == $1.model(as: T.self) }
  }

  /// Returns the model, whose type is the model type of its reactor.
  ///
  /// - Parameter type: the type that the model was created with, which is checked in debug builds
  ///   only. A dynamic cast would take as long as the rest of a hit, and each reactor has one type.
  ///   It is an argument because an optional chain may infer the optional type.
  @inlinable package func model<Model: Sendable>(as type: Model.Type) -> Model {
    unsafeDowncast(box, to: Box<Model>.self).model
  }

  @usableFromInline package final class Box<Model: Sendable>: Sendable {
    @usableFromInline let model: Model
    init(_ model: Model) { self.model = model }
  }
}

/// The look-up that lets a flow's steps find, in the reactor's memory, the model that was made from
/// a record. Its bytes then need not be parsed again. Empty until a reactor runs the flow.
final class DecodedModelLookup: Sendable {
  typealias Find = @Sendable (RecordKey) -> CachedModel?

  /// A box for the function. A lock that held the function itself would wrap it in another thunk at
  /// each access, and the thunks would accumulate.
  private struct Memory {
    var find: Find
  }

  private let memory = Mutex<Memory?>(nil)

  func connect(_ find: @escaping Find) { memory.withLock { $0 = Memory(find: find) } }

  /// Returns the model in memory if it was made from this exchange.
  func model(of key: RecordKey, from head: Record.Head) -> AnyModel? {
    guard let copy = memory.withLock({ $0 })?.find(key), let own = copy.head, own.isSameExchange(as: head)
    else { return nil }
    return copy.model
  }
}
