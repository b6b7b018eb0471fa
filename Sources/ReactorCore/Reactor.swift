public import Foundation
// Records, keys, scopes and persistence are part of this module's interface, and so are `HTTPFields`, `HTTPRequest` and their
// like: a program imports one module.
@_exported public import HTTPCaching
@_exported public import HTTPTypes

/// Models of one type from one backend: asked for once, kept, shared and observed. Made once and shared.
///
/// ```
/// Resource ─▶ fetch
///               │ Memory        decoded models, bounded, synchronous            hit ─▶ return (no suspension)
///               │   (one flight per key from here on, however many callers)
///               │ Persistence   bytes and metadata on disk; fresh? ─▶ Parsing ─▶ Memory ─▶ return
///               │ Network       reachable? ─▶ middlewares ─▶ Transport; HTTPCache judges the answer
///               │ Parsing       bytes ─▶ Model
///               │ Persistence   save, Memory
///               └ Observing     every open stream of that key gets the new LoadState
/// ```
///
/// ```swift
/// let articles = Reactor<[Article]>(baseURL: api, persistence: FilePersistence(directory: caches))
/// let list = try await articles.fetch("articles")
/// ```
///
/// Every method may be called from any isolation. Disk and parsing never run on the caller's actor; a memory hit never leaves it.
/// A caller that is cancelled gets ``ReactorError/cancelled`` at once; the request is cancelled when the last that waits for
/// it has gone.
public final class Reactor<Model: Sendable>: Sendable {
  @usableFromInline let engine: ReactorEngine

  public init(flow: ReactorFlow<Model>) { engine = ReactorEngine(flow) }

  /// A reactor with a layer of its own.
  ///
  /// `Model` is `Codable` or ``Mappable``, a collection of either, or `Data`, `String` or `Void`; the parser is chosen when
  /// the reactor is made, as ``Parser/automatic(keyPath:decoder:encoder:mode:)`` says. With any other type each fetch fails with
  /// ``ReactorError/parser(_:)`` before a request is sent.
  ///
  /// - Parameters:
  ///   - persistence: `nil` keeps models in memory only.
  ///   - reachability: says whether there is connectivity. ``Reachability/always`` tries every request.
  public convenience init(
    baseURL: URL, transport: any Transport = URLSessionTransport(), persistence: (any Persistence)? = nil,
    reachability: any Reachability = SystemReachability(), configuration: ReactorConfiguration = .init()
  ) {
    self.init(
      flow: ReactorFlow(
        backend: Backend(baseURL: baseURL, transport: transport, reachability: reachability), persistence: persistence,
        configuration: configuration))
  }

  /// The model: from memory or persistence while that is fresh, else from the network (``FetchPolicy/cacheFirst``).
  @inlinable public func fetch(_ resource: Resource) async throws(ReactorError) -> Model {
    if let model = engine.hit(resource, .cacheFirst) { return model.model(as: Model.self) }
    return try await engine.missed(resource, .cacheFirst).model(as: Model.self)
  }

  /// The model from the network, whatever is stored; saved when that succeeds (``FetchPolicy/networkOnly``).
  public func fetchFromNetwork(_ resource: Resource) async throws(ReactorError) -> Model {
    try await fetch(resource, policy: .networkOnly)
  }

  /// The model, as `policy` says.
  ///
  /// Concurrent fetches of one key share one request. A resource that is not read-only is sent and not fetched: ``send(_:)``.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` for a resource that may change something.
  public func fetch(_ resource: Resource, policy: FetchPolicy) async throws(ReactorError) -> Model {
    if let model = engine.hit(resource, policy) { return model.model(as: Model.self) }
    return try await engine.missed(resource, policy).model(as: Model.self)
  }

  /// The model as ``fetch(_:policy:)`` gets it, with the status, the header fields and the links of its response.
  ///
  /// Joins the same flights, throws the same errors and ends as early when it is cancelled.
  public func fetchResponse(
    _ resource: Resource, policy: FetchPolicy = .cacheFirst
  ) async throws(ReactorError) -> ModelResponse<Model> {
    ModelResponse(try await engine.response(to: resource, policy))
  }

  /// Sends a request that may change something on the server, and returns the model of its response.
  ///
  /// ```swift
  /// let created = try await posts.send(Resource("posts", method: .post, json: draft))
  /// ```
  ///
  /// It is requested by itself each time, and its response is never stored. When the server has accepted it, what is
  /// stored for its URL, and for those that the response names, is invalidated (RFC 9111 §4.4). A caller that is cancelled
  /// gets ``ReactorError/cancelled`` at once; the server may have carried it out all the same, and then what is stored
  /// is invalidated too.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` for a resource that only reads: fetch it.
  public func send(_ resource: Resource) async throws(ReactorError) -> Model {
    try await engine.send(resource).model.model(as: Model.self)
  }

  /// Sends a request as ``send(_:)`` does, and returns its model with the status, the header fields and the links of the
  /// response.
  public func sendResponse(_ resource: Resource) async throws(ReactorError) -> ModelResponse<Model> {
    ModelResponse(try await engine.response(toSending: resource))
  }

  /// The model that memory has, fresh or stale; asks nobody, and never suspends.
  @inlinable public func cached(_ resource: Resource) -> Model? { engine.cached(resource)?.model(as: Model.self) }

  /// What is known of the resource, and each change of it, whoever causes it. Nothing happens until it is iterated.
  public func states(
    for resource: Resource, policy: FetchPolicy = .staleWhileRevalidate
  ) -> LoadStates<Model> {
    LoadStates(engine: engine, resource: resource, policy: policy)
  }

  /// The same, and the network is asked every `interval` while somebody watches, whatever is stored.
  ///
  /// The interval, on the configuration's clock, counts from the end of the latest attempt, whoever made it: requests never
  /// overlap, and many that poll one resource make one request an interval, the shortest of theirs. It is
  /// ``ReactorConfiguration/pollingFactorInLowPower`` times as long while power is saved. A failure is shown, and the next is
  /// tried all the same; without connectivity it waits for that. What is removed is not asked for until somebody brings it back.
  ///
  /// - Parameter interval: of zero or less, and of `Duration.never`: no polling. ``FetchPolicy/cacheOnly`` never polls.
  public func states(
    for resource: Resource, policy: FetchPolicy = .staleWhileRevalidate, polling interval: Duration
  ) -> LoadStates<Model> {
    LoadStates(engine: engine, resource: resource, policy: policy, polling: interval)
  }

  /// A local write, before the server knows of it: observers and waiting callers get `model` at once, an answer to an
  /// earlier request no longer replaces it, and the next success of the network does.
  ///
  /// Other reactors of the layer hear of it. One of the same model type reads what was persisted. For one of another type
  /// its own copy becomes stale; nobody asks the network because of that, since the answer would replace what was written.
  ///
  /// Returns when it is persisted. A model that cannot be encoded stays in memory, and an event says so. A caller that is
  /// cancelled while it waits for its turn at the disk gets ``ReactorError/cancelled`` at once; the write is made all the same.
  /// Only the same type reads it from disk, by the type's name: renaming the type forgets the write.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` only with ``ReactorConfiguration/failsWhenSaveFails``.
  public func save(_ model: Model, for resource: Resource) async throws(ReactorError) {
    try await engine.write(AnyModel(model), for: resource)
  }

  /// Declares what is stored stale, in memory and on disk. Open streams ask anew, and a request under way is begun again.
  ///
  /// Where the record cannot be marked, which is an event (``ReactorEvent/Kind/saveFailed(_:)``), it counts as fresh again once memory has
  /// forgotten it.
  public func invalidate(_ resource: Resource) async { await engine.invalidate(resource) }

  /// Forgets the resource. Callers that wait for it get ``ReactorError/cancelled``; open streams show nothing, and do not ask.
  ///
  /// A caller of this that is cancelled while it waits for its turn at the disk gets ``ReactorError/cancelled`` at once; the removal
  /// is made all the same.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` where the record could not be deleted; memory is cleared.
  ///   ``ReactorError/deadlock(keys:)`` where a step of a flow calls it and would wait for ever.
  public func remove(_ resource: Resource) async throws(ReactorError) { try await engine.remove(resource) }

  /// Forgets all that the reactor's scope has, in memory and on disk, as ``ModelLayer/removeAll()`` does.
  ///
  /// Reactors that share its layer forget too. With persistence, all that the store has in this scope is deleted.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` where the disk could not be cleared; memory is.
  public func removeAll() async throws(ReactorError) { try await engine.layer.removeAll() }

  /// What happens in this reactor and those that share its layer; see ``ModelLayer/events``.
  public var events: some AsyncSequence<ReactorEvent, Never> & Sendable { ReactorEvents(hub: engine.layer.events) }

  /// Calls `body` with every event, in order; see ``ModelLayer/observeEvents(_:)``.
  public func observeEvents(_ body: @escaping @Sendable (ReactorEvent) -> Void) -> EventToken {
    engine.layer.events.observe(body)
  }

  /// Calls `body` with every event for as long as `owner` lives; see ``ModelLayer/observeEvents(for:_:)``.
  public func observeEvents<Owner: AnyObject & Sendable>(
    for owner: Owner, _ body: @escaping @Sendable (Owner, ReactorEvent) -> Void
  ) {
    engine.layer.events.observe(for: owner, body)
  }
}
