import Foundation
import Synchronization

/// The steps of one fetch, each replaceable on its own.
///
/// A flow is made from a ``Backend``, a `Persistence` and a ``Parser``, or from closures; either way it gets memory, flights, states
/// and ordering from the ``Reactor`` that runs it. To wrap a step, keep the old one and call it:
///
/// ```swift
/// let load = flow.loadFromPersistence
/// flow.loadFromPersistence = { resource in
///   do { return try await load(resource) } catch { log(error); throw error }
/// }
/// ```
///
/// Steps run on the global executor, never on the caller's actor. They may throw anything: a ``ReactorError`` passes, a
/// `CancellationError` becomes ``ReactorError/cancelled``, the rest ``ReactorError/network(_:)`` or
/// ``ReactorError/persistence(_:)``. They are cancelled with the flight, when its last waiter leaves. A step that throws a
/// cancellation by itself, such as the end of a time limit of its own, has failed: callers get ``ReactorError/cancelled``, and
/// streams show it as their error.
///
/// A step may use the reactors of its layer. While it loads, saves or removes, nobody else uses the persistence of its key, except
/// what the step itself awaits; another key is waited for. Steps that wait for each other get
/// ``ReactorError/deadlock(keys:)``. The library knows what a step awaits in its own task and in tasks made with `Task { }`,
/// but not in a detached one: do not await one that uses the step's key.
public struct ReactorFlow<Model: Sendable>: Sendable {
  /// Asks the network and parses. To say "unchanged", it returns ``FetchContext/stale`` with a new `fetchedAt`.
  public var network: @Sendable (Resource, FetchContext<Model>) async throws -> Snapshot<Model> {
    didSet { decoded = DecodedModelLookup() }
  }
  /// What is persisted; `nil` where nothing is. What it throws is a miss, and an event.
  public var loadFromPersistence: @Sendable (Resource) async throws -> Snapshot<Model>? {
    didSet { decoded = DecodedModelLookup() }
  }
  /// Persists a model that came from the network or, with no ``Snapshot/record``, was written locally.
  public var saveToPersistence: @Sendable (Snapshot<Model>, Resource) async throws -> Void
  /// Forgets what is persisted. Default: nothing.
  public var removeFromPersistence: @Sendable (Resource) async throws -> Void
  public var configuration: ReactorConfiguration

  /// What it shares with the other reactors of a layer; a flow of closures has one of its own.
  let layer: LayerContext
  /// Declares what is persisted stale.
  var invalidateInPersistence: @Sendable (RecordKey, Date) async throws -> Void = { _, _ in }
  /// A Boolean value that indicates whether ``saveToPersistence`` saves at all.
  var isPersistent: Bool
  /// Lets the steps use a model that is in memory instead of parsing its bytes again. Not with a step that was replaced: it may
  /// make another model of the bytes.
  var decoded = DecodedModelLookup()

  /// A flow with all three steps.
  ///
  /// - Parameter reachability: says whether there is connectivity. Default: `nil`, the network step is always tried.
  public init(
    configuration: ReactorConfiguration = .init(), reachability: (any Reachability)? = nil,
    network: @escaping @Sendable (Resource, FetchContext<Model>) async throws -> Snapshot<Model>,
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

  /// A flow without persistence: memory, then `network`.
  ///
  /// - Parameter reachability: says whether there is connectivity. Default: `nil`, the network step is always tried.
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
    network: @escaping @Sendable (Resource, FetchContext<Model>) async throws -> Snapshot<Model>,
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

  /// Under what `resource` is known. Without a base URL, the path stands for itself.
  func key(_ resource: Resource) throws(ReactorError) -> RecordKey {
    try layer.keys.key(resource, secretQueryItems: configuration.secretQueryItems)
  }

  /// A Boolean value that indicates whether a request can be tried now.
  var isReachable: Bool {
    guard !layer.isOffline.load(ordering: .relaxed) else { return false }
    guard configuration.checksReachability, let reachability = layer.reachability else { return true }
    return layer.isLoopback || reachability.isReachable
  }
}

/// What a flow's network step is given beside the resource.
public struct FetchContext<Model: Sendable>: Sendable {
  /// The copy that there is, if any: the step may ask the server whether it is still good, and return it with a new
  /// ``Snapshot/fetchedAt`` if so.
  public var stale: Snapshot<Model>?
  /// To be told how far the transfer has come; streams show it.
  public var progress: @Sendable (TransferProgress) -> Void
  /// A Boolean value that indicates whether persistence was asked in this flight; then ``stale`` is
  /// what it had, and it need not be asked again.
  var hasAskedPersistence = false
  /// To be told of each request that is about to be sent.
  var sends: @Sendable () -> Void = {}
  /// Where every attempt leaves its hops; `nil`: nobody asks.
  var trail: RedirectTrail?

  public init(
    stale: Snapshot<Model>? = nil, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
  ) {
    self.stale = stale
    self.progress = progress
  }
}
