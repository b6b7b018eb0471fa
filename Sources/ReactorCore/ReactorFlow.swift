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
    get {
      { [network = steps.network] in try await network($0, $1.fields).typed(as: Model.self) }
    }
    set {
      steps.network = { try await newValue($0, Context($1)).erased }
      (steps.decoded, steps.parseRecord, steps.storedRecord) = (DecodedModelLookup(), nil, nil)
    }
  }
  /// Loads the persisted model; `nil` if nothing is stored. A thrown error counts as a miss and is
  /// reported as an event.
  public var loadFromPersistence: @Sendable (Resource) async throws -> Snapshot<Model>? {
    get {
      { [load = steps.loadFromPersistence] in try await load($0)?.typed(as: Model.self) }
    }
    set {
      steps.loadFromPersistence = { try await newValue($0)?.erased }
      (steps.decoded, steps.loadsAtOnce) = (DecodedModelLookup(), false)
    }
  }
  /// Persists a model that came from the network or was written locally; a local one has no
  /// ``Snapshot/record``.
  public var saveToPersistence: @Sendable (Snapshot<Model>, Resource) async throws -> Void {
    get {
      { [save = steps.saveToPersistence] in try await save($0.erased, $1) }
    }
    set { steps.saveToPersistence = { try await newValue($0.typed(as: Model.self), $1) } }
  }
  /// Removes the persisted model. Default: does nothing.
  public var removeFromPersistence: @Sendable (Resource) async throws -> Void {
    get { steps.removeFromPersistence }
    set { steps.removeFromPersistence = newValue }
  }
  /// The configuration of the reactor that runs this flow.
  public var configuration: ReactorConfiguration {
    get { steps.configuration }
    set { steps.configuration = newValue }
  }

  /// The steps without the type of the models.
  var steps: FlowSteps

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
    self.init(
      FlowSteps(
        layer: LayerContext(
          backend: nil, persistence: nil, reachability: reachability, configuration: configuration),
        configuration: configuration, isPersistent: true,
        network: { try await network($0, Context($1)).erased },
        loadFromPersistence: { try await loadFromPersistence($0)?.erased },
        saveToPersistence: { try await saveToPersistence($0.typed(as: Model.self), $1) },
        removeFromPersistence: removeFromPersistence))
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
    steps.isPersistent = false
  }

  init(_ steps: FlowSteps) { self.steps = steps }

  /// The steps as an engine runs them, with the presentation of the model type.
  var presented: FlowSteps {
    var steps = steps
    steps.presentation = (Model.self as? any ModelLayer.PresentedModel.Type)?._presentation.make(steps.layer)
    return steps
  }

  /// The input of a flow's network step, beside the resource.
  public struct Context: Sendable {
    /// The stored copy, fresh or stale; `nil` if nothing is stored.
    ///
    /// The step may ask the server whether the copy is still valid, and if so return it with a new
    /// ``Snapshot/fetchedAt``.
    public var stale: Snapshot<Model>? {
      get { fields.stale?.typed(as: Model.self) }
      set { fields.stale = newValue?.erased }
    }
    /// A closure for the step to call with the progress of the transfer, which streams show. It can
    /// be called from any thread.
    public var progress: @Sendable (TransferProgress) -> Void {
      get { fields.progress }
      set { fields.progress = newValue }
    }
    var fields: FlowContext

    /// Creates a context, for example to test a network step.
    public init(
      stale: Snapshot<Model>? = nil, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) {
      fields = FlowContext(stale: stale?.erased, progress: progress)
    }

    init(_ fields: FlowContext) { self.fields = fields }
  }
}

extension ReactorFlow {
  /// Creates the flow of a backend: memory, then `persistence`, then the network.
  ///
  /// - Parameters:
  ///   - persistence: the store of the records. Default: `nil`, which persists nothing.
  ///   - parser: the parser of the models. Default: chosen by the model's type, as
  ///     ``Parser/automatic(keyPath:decoder:encoder:mode:)`` describes.
  ///   - scope: the user whose records these are. A record of one scope never answers another.
  public init(
    backend: Backend, persistence: (any Persistence)? = nil, parser: Parser<Model>? = nil, scope: Scope = .shared,
    configuration: ReactorConfiguration = .init()
  ) {
    self.init(
      layer: LayerContext(backend: backend, persistence: persistence, scope: scope, configuration: configuration),
      backend: backend, parser: parser, configuration: configuration)
  }

  init(layer: LayerContext, backend: Backend, parser: Parser<Model>?, configuration: ReactorConfiguration) {
    self.init(
      HTTPFlow(
        layer: layer, backend: backend, parser: AnyParser(parser ?? .automatic(configuration)),
        configuration: configuration
      ).steps)
  }

  /// Creates a flow of a custom network step over a typed store. `parser` encodes a model to save
  /// it, and parses it when it is loaded.
  ///
  /// After a restart, a value from the network step has the origin ``Origin/persistence``, and a
  /// local write has ``Origin/local``.
  ///
  /// - Parameter reachability: the source of connectivity. Default: `nil`, with which the network
  ///   step always runs.
  public static func persisted(
    in persistence: any Persistence, parser: Parser<Model>? = nil, scope: Scope = .shared,
    configuration: ReactorConfiguration = .init(), reachability: (any Reachability)? = nil,
    network: @escaping @Sendable (Resource) async throws -> Model
  ) -> ReactorFlow {
    let layer = LayerContext(
      backend: nil, persistence: persistence, reachability: reachability, scope: scope, configuration: configuration)
    let store = LocalStore(
      cache: layer.cache, parser: AnyParser(parser ?? .automatic(configuration)),
      key: { resource throws(ReactorError) in
        try layer.keys.key(resource, secretQueryItems: configuration.secretQueryItems)
      })
    var steps = FlowSteps(
      layer: layer, configuration: configuration, isPersistent: true,
      network: { resource, _ in
        try store.fetched(AnyModel(try await network(resource)), resource, at: configuration.now())
      },
      loadFromPersistence: { try await store.load($0) }, saveToPersistence: { try await store.save($0, $1) },
      removeFromPersistence: { try await store.remove($0) })
    steps.invalidateInPersistence = { try await layer.cache.invalidate($0, at: $1) }
    steps.holdsAnswer = { try await layer.holdsAnswer(try store.key($0), to: $0) }
    return ReactorFlow(steps)
  }
}
