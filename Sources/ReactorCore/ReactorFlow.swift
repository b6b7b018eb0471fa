import Foundation
import Synchronization

/// The steps of a fetch, each of which you can replace.
///
/// A flow is made from a ``Backend``, a `Persistence` and a ``Parser``, or from closures. In both
/// cases, the ``Reactor`` that runs it adds memory, flights, states and ordering. To wrap a step,
/// store the old one and call it:
///
/// ```swift
/// let load = flow.loadFromPersistence
/// flow.loadFromPersistence = { resource in
///   do { return try await load(resource) } catch { log(error); throw error }
/// }
/// ```
///
/// Steps run on the global executor or ``ReactorConfiguration/taskExecutor``, never on the caller's
/// actor. They are cancelled with their flight, when its last waiter leaves.
///
/// A step may throw any error. A ``ReactorError`` is passed on, a `CancellationError` becomes
/// ``ReactorError/cancelled``, and any other error becomes ``ReactorError/network(_:)`` or
/// ``ReactorError/persistence(_:)``. A step that throws a `CancellationError` by itself, for
/// example at its own deadline, has failed: callers get ``ReactorError/cancelled``, and streams
/// show it as their error.
///
/// A step may use the reactors of its layer. While it loads, saves or removes, it has exclusive use
/// of the persistence of its key, which extends to the calls that it awaits. Calls for other keys
/// wait their turn. Steps that wait for each other get ``ReactorError/deadlock(keys:)``. The
/// library follows what a step awaits in its own task and in tasks made with `Task { }`, but not in
/// detached tasks: do not await a detached task that uses the step's key.
public struct ReactorFlow<Model: Sendable>: Sendable {
  /// Requests the model from the network and parses it.
  ///
  /// To report that the stale copy is still valid, return ``ReactorFlow/Context/stale`` with a new
  /// ``Snapshot/fetchedAt``. Replacing this step or ``loadFromPersistence`` ends the reuse of
  /// models that are already parsed.
  public var network: @Sendable (Resource, ReactorFlow<Model>.Context) async throws -> Snapshot<Model> {
    didSet { (decoded, parseRecord) = (DecodedModelLookup(), nil) }
  }
  /// Loads the persisted model; `nil` if nothing is stored. A thrown error counts as a miss and is
  /// reported as an event.
  public var loadFromPersistence: @Sendable (Resource) async throws -> Snapshot<Model>? {
    didSet { (decoded, loadsAtOnce) = (DecodedModelLookup(), false) }
  }
  /// Persists a model that came from the network or was written locally; a local one has no
  /// ``Snapshot/record``.
  public var saveToPersistence: @Sendable (Snapshot<Model>, Resource) async throws -> Void
  /// Removes the persisted model. Default: does nothing.
  public var removeFromPersistence: @Sendable (Resource) async throws -> Void
  /// The configuration of the reactor that runs this flow.
  public var configuration: ReactorConfiguration

  /// The state shared with the other reactors of a layer. A flow of closures has its own layer.
  let layer: LayerContext
  /// Marks the persisted record stale.
  var invalidateInPersistence: @Sendable (RecordKey, Date) async throws -> Void = { _, _ in }
  /// Returns `true` if the persistence may hold a value that the server has sent.
  var holdsAnswer: @Sendable (Resource) async throws -> Bool = { _ in true }
  /// Parses an exchange that no step has requested; `nil` if the network step is the program's own.
  var parseRecord: (@Sendable (Record, RecordKey) throws -> Snapshot<Model>)?
  /// A Boolean value that indicates whether ``saveToPersistence`` saves at all.
  var isPersistent: Bool
  /// A Boolean value that indicates whether ``loadFromPersistence`` may run on the caller's thread.
  var loadsAtOnce = false
  /// Finds models in memory, so that the steps need not parse their bytes again. Replacing a step
  /// disconnects it, since the new step may parse the bytes differently.
  var decoded = DecodedModelLookup()
  /// The presentation of the models; `nil` if the type has none, or is not erased.
  package internal(set) var presentation: (any ModelPresentation)?

  /// Creates a flow from closures, with its own layer.
  ///
  /// - Parameter reachability: The source of connectivity. With `nil`, the default, the network
  ///   step is always tried.
  public init(
    configuration: ReactorConfiguration = .init(), reachability: (any Reachability)? = nil,
    network: @escaping @Sendable (Resource, ReactorFlow<Model>.Context) async throws -> Snapshot<Model>,
    loadFromPersistence: @escaping @Sendable (Resource) async throws -> Snapshot<Model>?,
    saveToPersistence: @escaping @Sendable (Snapshot<Model>, Resource) async throws -> Void,
    removeFromPersistence: @escaping @Sendable (Resource) async throws -> Void = { _ in }
  ) {
    self.network = network
    self.loadFromPersistence = loadFromPersistence
    self.saveToPersistence = saveToPersistence
    self.removeFromPersistence = removeFromPersistence
    self.configuration = configuration
    layer = LayerContext(backend: nil, persistence: nil, reachability: reachability, configuration: configuration)
    isPersistent = true
  }

  /// Creates a flow without persistence: memory, then `network`.
  ///
  /// - Parameter reachability: The source of connectivity. With `nil`, the default, the network
  ///   step is always tried.
  public init(
    configuration: ReactorConfiguration = .init(), reachability: (any Reachability)? = nil,
    network: @escaping @Sendable (Resource) async throws -> Model
  ) {
    let now = configuration.now
    self.init(
      configuration: configuration, reachability: reachability,
      network: { resource, _ in Snapshot(model: try await network(resource), fetchedAt: now()) },
      loadFromPersistence: { _ in nil }, saveToPersistence: { _, _ in })
    isPersistent = false
  }

  init(
    layer: LayerContext, configuration: ReactorConfiguration,
    network: @escaping @Sendable (Resource, ReactorFlow<Model>.Context) async throws -> Snapshot<Model>,
    loadFromPersistence: @escaping @Sendable (Resource) async throws -> Snapshot<Model>?,
    saveToPersistence: @escaping @Sendable (Snapshot<Model>, Resource) async throws -> Void,
    removeFromPersistence: @escaping @Sendable (Resource) async throws -> Void
  ) {
    self.network = network
    self.loadFromPersistence = loadFromPersistence
    self.saveToPersistence = saveToPersistence
    self.removeFromPersistence = removeFromPersistence
    self.configuration = configuration
    self.layer = layer
    isPersistent = layer.cache.isPersistent
  }

  /// Returns the key of `resource`. Without a base URL, the path is used in its place.
  package func key(_ resource: Resource) throws(ReactorError) -> RecordKey {
    try layer.keys.key(resource, secretQueryItems: configuration.secretQueryItems)
  }

  /// A Boolean value that indicates whether there is connectivity, or it is not checked.
  package var isReachable: Bool { layer.isReachable(configuration) }

  /// The input of a flow's network step, beside the resource.
  public struct Context: Sendable {
    /// The stored copy, fresh or stale; `nil` if nothing is stored.
    ///
    /// The step may ask the server whether the copy is still valid, and if so return it with a new
    /// ``Snapshot/fetchedAt``.
    public var stale: Snapshot<Model>? {
      get { copy?.snapshot }
      set { copy = newValue.map(Copy.init) }
    }
    /// A reference, so that the layout of a context is the same for every model. The code that
    /// copies one would otherwise be large.
    private var copy: Copy?
    /// A closure for the step to call with the progress of the transfer, which streams show. It can
    /// be called from any thread.
    public var progress: @Sendable (TransferProgress) -> Void
    /// A Boolean value that indicates whether this flight has read persistence. Then ``stale`` is
    /// the result, and a second read is unnecessary.
    var hasAskedPersistence = false
    /// A Boolean value that indicates whether a waiter wants the server's response, and no other
    /// process's.
    var asksServer = false
    /// A Boolean value that indicates whether the response is neither taken from other processes
    /// nor shared with them.
    var isUnshared = false
    /// A closure to call before each request is sent.
    var sends: @Sendable () -> Void = {}
    /// The part that outages play in the fetch; `nil` if they are not remembered.
    var outage: OutageCheck?
    /// The flight as the instrument sees it; `nil` without one.
    var record: ModelLayer.InstrumentedFlight?
    /// The record of every attempt's redirects; `nil` if it is not needed.
    var trail: RedirectTrail?

    /// Creates a context, for example to test a network step.
    public init(
      stale: Snapshot<Model>? = nil, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) {
      self.progress = progress
      self.stale = stale
    }

    private final class Copy: Sendable {
      let snapshot: Snapshot<Model>

      init(_ snapshot: Snapshot<Model>) { self.snapshot = snapshot }
    }
  }
}
