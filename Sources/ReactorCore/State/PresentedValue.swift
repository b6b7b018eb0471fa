package import Foundation

/// The model that a reader gets in place of a copy's. The first reader computes it, without a lock,
/// and once for all of them.
package protocol PresentedValue: AnyObject, Sendable {
  /// The model; `nil` if it was removed, or there is none. It calls user code.
  var model: AnyModel? { get }
  /// The model with the changes over it. It calls user code.
  var shown: Shown { get }
}

/// A model with the changes over it.
package struct Shown: Sendable {
  /// The model; `nil` if it was removed, or there is none.
  package var model: AnyModel?
  /// The ids of the changes of other keys in it that no server has accepted yet.
  package var pending: [UUID]

  package init(model: AnyModel?, pending: [UUID] = []) { (self.model, self.pending) = (model, pending) }
}

/// The part of a copy that another module adds when the copy's model has arrived.
package protocol PresentedCopy: AnyObject, Sendable {
  /// The model that a reader of the copy gets.
  var shown: any PresentedValue { get }

  /// Notes that the copy is in memory. It runs under the reactor's lock.
  func note(_ copy: CachedModel) -> PresentationNews
}

/// The effect that a copy has on other keys.
package struct PresentationNews: Sendable {
  /// The keys with streams that show something newer.
  package var keys: Set<RecordKey> = []
  /// The values that it has replaced, to be released without any lock.
  package var released: [any Sendable] = []

  package init() {}
}

/// The changes over one key's copy in one reactor. Guarded by the reactor's lock; most keys have
/// none.
package protocol KeyPresentation: AnyObject {
  /// A Boolean value that indicates whether no change is left.
  var isEmpty: Bool { get }
  /// The copy with the changes.
  var shown: any PresentedValue { get }
  /// The ids of the changes that no server has accepted yet, in their order.
  var pendingIDs: [UUID] { get }
  /// The ids of the changes that the server has accepted.
  var acceptedIDs: Set<UUID> { get }
  /// The values that may hold user objects.
  var belongings: [any Sendable] { get }

  /// Returns the base with only the accepted changes.
  func confirmed(over base: CachedModel?) -> any PresentedValue
  /// Returns another copy with the same changes: a variant that one stream shows.
  func drawn(over other: CachedModel?) -> any PresentedValue
  /// Puts the changes over a new base, without the accepted ones that the base has: it was
  /// requested or written after their acceptance.
  ///
  /// - Returns: `true` if the shown value may have changed.
  func rebase(on base: CachedModel?, isNewValue: Bool) -> Bool
  /// Drops the accepted changes that a loaded base has.
  ///
  /// - Parameters:
  ///   - number: the number of the latest change on disk when the base was read; zero if unknown.
  ///   - isLatest: `true` if nothing has been stored since.
  /// - Returns: `true` if the shown value may have changed.
  func rebase(onLoaded base: CachedModel?, from number: Generation, isLatest: Bool) -> Bool
  /// Drops the changes that the layer has removed with everything else.
  ///
  /// - Returns: `true` if the shown value may have changed.
  func dropRemoved(over base: CachedModel?) -> Bool
  /// Returns the values that were dropped since the last call, to be released without the lock.
  func consumeDropped() -> [any Sendable]
}
