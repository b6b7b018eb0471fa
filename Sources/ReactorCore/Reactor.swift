public import Foundation
// Records, keys, scopes, persistence and HTTP fields are part of this module's interface, so that a
// program imports one module.
@_exported public import HTTPCaching
@_exported public import HTTPTypes

/// Fetches, caches and observes models of one type from one backend. Make one and share it.
///
/// ```
/// Resource ─▶ fetch
///               │ Memory        decoded, bounded, synchronous       hit ─▶ return (no suspension)
///               │   (from here on one flight per key, however many callers)
///               │ Persistence   bytes and metadata on disk    fresh ─▶ Parsing ─▶ Memory ─▶ return
///               │ Network       reachable ─▶ middlewares ─▶ Transport; HTTPCache judges the answer
///               │ Parsing       bytes ─▶ Model
///               │ Persistence   save; Memory
///               └ Observing     every stream and observer of that key gets the new LoadState
/// ```
///
/// ```swift
/// let articles = Reactor<[Article]>(baseURL: api, persistence: FilePersistence(directory: caches))
/// let list = try await articles.fetch("articles")
/// ```
///
/// You can call every method from any isolation. Disk access and parsing never run on the caller's
/// actor; a memory hit never leaves it.
///
/// A cancelled caller gets ``ReactorError/cancelled`` at once. The request is cancelled when its
/// last waiter leaves.
public final class Reactor<Model: Sendable>: Sendable {
  @usableFromInline package let engine: ReactorEngine

  /// Creates a reactor that runs the steps of `flow`, and shares the layer that the flow was made
  /// with.
  public init(flow: ReactorFlow<Model>) { engine = ReactorEngine(flow) }

  /// Creates a reactor with its own layer.
  ///
  /// ```swift
  /// let stories = Reactor<[Story]>(
  ///   baseURL: api, persistence: FilePersistence(directory: directory))
  /// ```
  ///
  /// `Model` is `Codable` or ``Mappable``, a collection of either, or `Data`, `String` or `Void`.
  /// The reactor chooses its parser when it is made; see
  /// ``Parser/automatic(keyPath:decoder:encoder:mode:)``. With any other type, each fetch fails
  /// with ``ReactorError/parser(_:)`` before it sends a request.
  ///
  /// - Parameters:
  ///   - persistence: The durable store. `nil`, the default, stores models in memory only.
  ///   - reachability: The source of connectivity. ``Reachability/always`` tries every request.
  public convenience init(
    baseURL: URL, transport: any Transport = URLSessionTransport(), persistence: (any Persistence)? = nil,
    reachability: any Reachability = .system, configuration: ReactorConfiguration = .init()
  ) {
    self.init(
      flow: ReactorFlow(
        backend: Backend(baseURL: baseURL, transport: transport, reachability: reachability), persistence: persistence,
        configuration: configuration))
  }

  /// Returns the model, from memory or persistence while it is fresh, else from the network
  /// (``FetchPolicy/cacheFirst``).
  ///
  /// ```swift
  /// let list = try await stories.fetch("stories")
  /// ```
  ///
  /// A memory hit does not suspend.
  ///
  /// - Throws: ``ReactorError``; see ``fetch(_:policy:)``.
  @inlinable public func fetch(_ resource: Resource) async throws(ReactorError) -> Model {
    if let model = engine.hit(resource, .cacheFirst) { return model.model(as: Model.self) }
    return try await engine.missed(resource, .cacheFirst).model(as: Model.self)
  }

  /// Fetches the model from the network, whatever is stored, and stores it
  /// (``FetchPolicy/networkOnly``).
  ///
  /// ```swift
  /// let newest = try await stories.fetchFromNetwork("stories")
  /// ```
  public func fetchFromNetwork(_ resource: Resource) async throws(ReactorError) -> Model {
    try await fetch(resource, policy: .networkOnly)
  }

  /// Returns the model from the sources that `policy` allows.
  ///
  /// ```swift
  /// let list = try await stories.fetch("stories", policy: .networkFirst)
  /// ```
  ///
  /// Concurrent fetches of one key share one request. The request is cancelled when its last waiter
  /// leaves. To make a request that may change something, call ``send(_:)``.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` for a resource that is not read-only,
  ///   ``ReactorError/cancelled`` as soon as the caller is cancelled, or the error of the step that
  ///   failed.
  public func fetch(_ resource: Resource, policy: FetchPolicy) async throws(ReactorError) -> Model {
    if let model = engine.hit(resource, policy) { return model.model(as: Model.self) }
    return try await engine.missed(resource, policy).model(as: Model.self)
  }

  /// Returns the model with the status, header fields and links of its response.
  ///
  /// ```swift
  /// let page = try await stories.fetchResponse("stories")
  /// let next = try page.link(rel: "next")
  /// ```
  ///
  /// It joins the same flights as ``fetch(_:policy:)``, and throws the same errors.
  public func fetchResponse(
    _ resource: Resource, policy: FetchPolicy = .cacheFirst
  ) async throws(ReactorError) -> ModelResponse<Model> {
    ModelResponse(try await engine.response(to: resource, policy))
  }

  /// Fetches a model, and returns the state in which a stream shows it.
  ///
  /// A state of a stream with a smaller `LoadState.revision` is older.
  ///
  /// - Parameter isUnconditional: `true` to ask without the validators of the stored copy, so that
  ///   the server cannot answer with a 304.
  package func fetchState(
    _ resource: Resource, policy: FetchPolicy, isUnconditional: Bool = false
  ) async throws(ReactorError) -> LoadState<Model> {
    try await engine.fetchState(resource, policy, isUnconditional: isUnconditional).typed(as: Model.self)
  }

  /// Returns the state of a page in memory, and the instance that holds its value; `nil` without a
  /// value.
  package func shown(
    _ resource: Resource
  ) -> (state: LoadState<Model>, instance: any AnyObject & Sendable)? {
    let state = engine.current(resource, .cacheOnly)
    return state.value.map { (state.typed(as: Model.self), $0.box) }
  }

  /// Returns the response that a state shows, without drafts, as a page of the list that begins
  /// with `first`; `nil` if the state has no response. The links have the secret query items of
  /// `first`, of which the stored fields have only digests.
  package func page(
    in state: LoadState<Model>, of resource: Resource, _ first: Resource
  ) throws(ReactorError) -> ModelResponse<Model>? {
    guard let copy = state.copy else { return nil }
    return ModelResponse(try engine.response(copy, origin: state.origin ?? copy.origin, toPage: resource, of: first))
  }

  /// Returns the key of a resource.
  package func key(of resource: Resource) throws(ReactorError) -> RecordKey { try engine.flow.key(resource) }

  /// The number of times that everything of the layer was removed.
  package var removals: UInt64 { engine.layer.removals }

  /// The executor of the configuration; `nil` for the global one.
  package var taskExecutor: (any TaskExecutor)? { engine.flow.configuration.taskExecutor }

  /// Sends a request that may change something on the server, and returns the model of its
  /// response.
  ///
  /// ```swift
  /// let created = try await posts.send(Resource("posts", method: .post, json: draft))
  /// ```
  ///
  /// Every call sends a separate request, and the response is never stored. When the server accepts
  /// the request, the reactor invalidates the records of its URL and of the URLs that the response
  /// names (RFC 9111 §4.4).
  ///
  /// A cancelled caller gets ``ReactorError/cancelled`` at once. The server may still have carried
  /// out the request; the records are then invalidated too.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` for a read-only resource; call ``fetch(_:)``
  ///   for one.
  public func send(_ resource: Resource) async throws(ReactorError) -> Model {
    try await engine.send(resource).model.model(as: Model.self)
  }

  /// Sends a request as ``send(_:)`` does, and reports its progress.
  ///
  /// ```swift
  /// let photo = try await photos.send(Resource("photos", form: form)) { progress in
  ///   print(progress.fractionCompleted)
  /// }
  /// ```
  ///
  /// - Parameter progress: Called in order, one call at a time, from any isolation, and not after
  ///   the method has returned. It is called when the stage changes, and when the fraction reaches
  ///   another hundredth; a success ends with ``TransferProgress/received`` complete. Another
  ///   attempt starts over. It must return quickly, since the transfer may wait for it.
  /// - Throws: The errors of ``send(_:)``.
  public func send(
    _ resource: Resource, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(ReactorError) -> Model {
    try await TransferReport.steps(to: progress) { [engine] report async throws(ReactorError) in
      try await engine.send(resource, progress: report).model
    }.model(as: Model.self)
  }

  /// Sends a request as ``send(_:)`` does, and returns the model with the status, header fields and
  /// links of the response.
  ///
  /// ```swift
  /// let created = try await story.sendResponse(Resource("stories", method: .post, body: body))
  /// let location = created.headers[.location]
  /// ```
  public func sendResponse(_ resource: Resource) async throws(ReactorError) -> ModelResponse<Model> {
    ModelResponse(try await engine.response(toSending: resource))
  }

  /// Returns the cached model without pending changes: the latest value that the server has sent or
  /// accepted. It does not suspend.
  ///
  /// ```swift
  /// let saved = stories.confirmed("stories")
  /// ```
  public func confirmed(_ resource: Resource) -> Model? { engine.confirmed(resource)?.model(as: Model.self) }

  /// Returns the cached model, fresh or stale, only from memory. It does not suspend.
  ///
  /// ```swift
  /// show(stories.cached("stories") ?? [])
  /// ```
  @inlinable public func cached(_ resource: Resource) -> Model? { engine.cached(resource)?.model(as: Model.self) }

  /// Returns the states of a resource: the current one, and each later change, whichever caller
  /// causes it.
  ///
  /// ```swift
  /// for await state in stories.states(for: "stories") {
  ///   show(state.value ?? [], isLoading: state.fetchStatus == .fetching)
  /// }
  /// ```
  ///
  /// Nothing happens until the sequence is iterated.
  public func states(
    for resource: Resource, policy: FetchPolicy = .staleWhileRevalidate
  ) -> LoadStates<Model> {
    LoadStates(engine: engine, resource: resource, policy: policy)
  }

  /// Returns the states of a resource, and polls the network while the sequence is iterated.
  ///
  /// A poll asks the network whatever is stored. The interval, on ``ReactorConfiguration/clock``,
  /// starts when the latest attempt is finished, whichever caller made it. Requests therefore never
  /// overlap, and several polling streams of one resource share one request, at the shortest of
  /// their intervals.
  ///
  /// While the system saves power, intervals are ``ReactorConfiguration/LowPower/pollingFactor``
  /// times as long. After a failure, the stream shows the error and polling continues. Without
  /// connectivity, the next poll waits for it. After ``remove(_:)``, polling pauses until the
  /// resource is fetched or saved again.
  ///
  /// - Parameter interval: The polling interval. Zero, a negative value or `Duration.never`
  ///   disables polling, and so does ``FetchPolicy/cacheOnly``.
  public func states(
    for resource: Resource, policy: FetchPolicy = .staleWhileRevalidate, polling interval: Duration
  ) -> LoadStates<Model> {
    LoadStates(engine: engine, resource: resource, policy: policy, polling: interval)
  }

  /// Stores a local value before the server knows of it.
  ///
  /// ```swift
  /// try await stories.save([Story(id: 1, title: "Draft")], for: "stories")
  /// ```
  ///
  /// Observers and waiting callers get `model` at once. Answers to earlier requests no longer
  /// replace it; the next successful request does.
  ///
  /// Other reactors of the layer are notified. One of the same model type reads the persisted
  /// value. One of another type marks its cached model stale, but does not fetch, since the answer
  /// would replace the local value.
  ///
  /// The method returns when the value is persisted. A model that cannot be encoded stays in memory
  /// only, and an event reports that. A caller that is cancelled while it waits for the disk gets
  /// ``ReactorError/cancelled`` at once; the write continues.
  ///
  /// Only a reactor of the same type reads the value from disk, by the type's name: renaming the
  /// type discards the write.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` for a resource that is not read-only. A failed
  ///   save is thrown only with ``ReactorConfiguration/Saving/required``, as
  ///   ``ReactorError/persistence(_:)``; otherwise it is an event.
  public func save(_ model: Model, for resource: Resource) async throws(ReactorError) {
    try await engine.write(AnyModel(model), for: resource)
  }

  /// Marks the stored value stale, in memory and on disk.
  ///
  /// ```swift
  /// await stories.invalidate("stories")
  /// ```
  ///
  /// Open streams fetch again, and a request in flight is restarted.
  ///
  /// If the record on disk cannot be marked, an event reports that
  /// (``ReactorEvent/Kind/saveFailed(_:)``). The record then counts as fresh again once memory has
  /// evicted the model. A resource that is not read-only has nothing stored, and is ignored.
  public func invalidate(_ resource: Resource) async { await engine.invalidate(resource) }

  /// Removes the resource from memory and disk.
  ///
  /// ```swift
  /// try await stories.remove("stories/\(id)")
  /// ```
  ///
  /// Waiting callers get ``ReactorError/cancelled``. Open streams show no value, and do not fetch.
  ///
  /// A caller that is cancelled while it waits for the disk gets ``ReactorError/cancelled`` at
  /// once; the removal continues.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` if the record could not be deleted; memory is
  ///   cleared nevertheless. ``ReactorError/deadlock(keys:)`` if a step of a flow calls it and
  ///   would wait forever. ``ReactorError/invalidResource(_:)`` for a resource that is not
  ///   read-only.
  public func remove(_ resource: Resource) async throws(ReactorError) { try await engine.remove(resource) }

  /// Removes everything that the reactor's scope stores, in memory and on disk.
  ///
  /// The layer's other reactors are cleared too; see ``ModelLayer/removeAll()``.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` if the disk could not be cleared; memory is cleared
  ///   nevertheless. ``ReactorError/deadlock(keys:)`` if a step of a flow calls it and would wait
  ///   forever.
  public func removeAll() async throws(ReactorError) { try await engine.layer.removeAll() }

  /// The events of this reactor and of the reactors that share its layer; see
  /// ``ModelLayer/events``.
  public var events: some AsyncSequence<ReactorEvent, Never> & Sendable { ReactorEvents(hub: engine.layer.events) }

  /// Calls `body` with every event, in order; see ``ModelLayer/observeEvents(_:)``.
  public func observeEvents(_ body: @escaping @Sendable (ReactorEvent) -> Void) -> ModelLayer.ObservationToken {
    engine.layer.events.observe(body)
  }

  /// Calls `body` with every event for as long as `owner` lives; see
  /// ``ModelLayer/observeEvents(for:_:)``.
  public func observeEvents<Owner: AnyObject & Sendable>(
    for owner: Owner, _ body: @escaping @Sendable (Owner, ReactorEvent) -> Void
  ) {
    engine.layer.events.observe(for: owner, body)
  }
}
