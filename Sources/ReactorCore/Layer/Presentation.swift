package import Foundation
import Synchronization

/// The changes that another module shows over the copies of a layer's reactors, and the writes that
/// it sends. A layer has none until the module is used: a program that only reads does not link it.
///
/// No method calls user code, and none takes a reactor's lock.
package protocol LayerPresentation: AnyObject, Sendable {
  /// Returns the changes over `key` in reactors of one type; `nil` if there are none.
  ///
  /// - Parameter own: the presentation of the reactor's models.
  func changes(
    of key: RecordKey, for model: ObjectIdentifier, by own: (any ModelPresentation)?
  ) -> (any KeyPresentation)?

  /// Forgets the accepted changes of `key` that a newer value has replaced.
  ///
  /// - Parameters:
  ///   - number: the number of the request or the write that produced the value.
  ///   - model: the only type that the value is for; `nil` for every type.
  ///   - isOnDisk: `true` if the value is the latest record.
  func didReplace(_ key: RecordKey, _ number: Generation, of model: ObjectIdentifier?, isOnDisk: Bool)

  /// Forgets everything: the user has signed out.
  func removeAll()

  /// Returns `true` if a request for `key` may begin now: no write of it is being sent.
  ///
  /// - Parameter hasCaller: `true` if a caller waits for the response.
  func admits(_ key: RecordKey, hasCaller: Bool) -> Bool

  /// Returns a pass for a request for `key`: the next write waits until it is released, which must
  /// not happen under a lock.
  func pass(for key: RecordKey) -> any AnyObject & Sendable
}

/// The presentation of one reactor's models, such as lists of entities. Most types have none.
package protocol ModelPresentation: AnyObject, Sendable {
  /// The number of removals of everything, by which an answer is known that comes after one.
  var epoch: Int { get }

  /// Returns the part of a copy with a model that has arrived. It calls user code.
  func arrived(_ model: AnyModel, at now: Date) -> any PresentedCopy

  /// Returns the copy without changes that no server has accepted.
  func confirmed(_ copy: CachedModel?) -> any PresentedValue

  /// Follows what the streams of a key show.
  ///
  /// - Parameters:
  ///   - copies: the copies that they show; empty without streams.
  ///   - isOpen: `true` if changes of the key may add to the copies.
  ///   - old: the result of the last call.
  /// - Returns: `old` if nothing is different; `nil` if there is nothing to follow.
  func watch(
    _ copies: [any PresentedCopy], isOpen: Bool, of key: RecordKey, instead old: (any AnyObject & Sendable)?
  ) -> (any AnyObject & Sendable)?

  /// Begins a write, and returns a closure to call with the model of its answer.
  ///
  /// - Parameter epoch: ``epoch`` when the app requested the write.
  func beginWrite(in layer: LayerContext, requestedIn epoch: Int) -> @Sendable (AnyModel) -> Void
}

extension ModelLayer {
  /// A model type that another module presents. `Entity` and `EntityContainer` of ReactorWrites
  /// refine this protocol and implement its requirement; do not conform to it alone.
  public protocol PresentedModel: Sendable {
    /// The way in which a reactor presents values of the type.
    static var _presentation: ModelLayer.Presenting { get }
  }

  /// The way in which a reactor presents values of one type. ReactorWrites makes them.
  public struct Presenting: Sendable {
    package let make: @Sendable (LayerContext) -> (any ModelPresentation)?

    package init(_ make: @escaping @Sendable (LayerContext) -> (any ModelPresentation)?) { self.make = make }
  }
}

/// A change of what is shown over one key.
package protocol PresentationChange: Sendable {
  var key: RecordKey { get }
  /// The type of the values that it applies to.
  var model: ObjectIdentifier { get }
  /// A Boolean value that indicates whether the change was made now, so that it may show a value
  /// where there was none.
  var isNew: Bool { get }

  /// Returns the first changes over a copy; `nil` if this one adds none.
  func begin(over copy: CachedModel?, by own: (any ModelPresentation)?) -> (any KeyPresentation)?

  /// Applies the change to earlier ones.
  ///
  /// - Returns: `true` if the shown value may have changed.
  func apply(to changes: any KeyPresentation, over copy: CachedModel?) -> Bool
}

/// The presentation of a layer, once there is one.
final class PresentationSlot: Sendable {
  private final class Box: Sendable {
    let presentation: any LayerPresentation
    init(_ presentation: any LayerPresentation) { self.presentation = presentation }
  }

  private let box = AtomicLazyReference<Box>()

  var presentation: (any LayerPresentation)? { box.load()?.presentation }

  func attach(_ presentation: any LayerPresentation) -> any LayerPresentation {
    box.storeIfNil(Box(presentation)).presentation
  }
}

extension LayerContext {
  /// The presentation; `nil` until a module has attached one.
  package var presentation: (any LayerPresentation)? { presentationSlot.presentation }

  /// Shows other changes in every reactor.
  package func announce(_ changes: [any PresentationChange]) { announce(.presented(changes)) }

  /// Computes the shown value of a key in every reactor, so that the next reader finds it done.
  package func computeShown(of key: RecordKey) {
    for member in livingMembers { member.computeShown(of: key) }
  }

  /// Shows what is newer to the streams of `keys`.
  package func renew(_ keys: Set<RecordKey>) {
    if !keys.isEmpty { announce(.renewed(keys)) }
  }

  /// A write of `keys` is being sent.
  package func sendingBegan(_ keys: Set<RecordKey>) {
    for key in keys.inOrder { announce(.sendingBegan(key)) }
  }

  /// A write of `keys` has its outcome, or will not be sent.
  package func sendingEnded(_ keys: Set<RecordKey>) {
    for key in keys.inOrder { announce(.sendingEnded(key)) }
  }

  /// Returns the presentation. If the layer has none yet, `make` creates it. The library has one
  /// type of them.
  package func presentation<Own: LayerPresentation>(orAttach make: () -> Own) -> Own {
    // Types are compared by themselves: a conditional cast takes longer, and each write looks.
    if let known = presentation, type(of: known) == Own.self { return unsafeDowncast(known, to: Own.self) }
    let made = make()
    let attached = presentationSlot.attach(made)
    return type(of: attached) == Own.self ? unsafeDowncast(attached, to: Own.self) : made
  }
}
