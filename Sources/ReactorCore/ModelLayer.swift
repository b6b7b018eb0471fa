public import Foundation
import Synchronization

/// The transport, persistence, ordering and events that the reactors of one backend and scope
/// share.
///
/// ```swift
/// let layer = ModelLayer(
///   baseURL: api, persistence: FilePersistence(directory: caches), scope: Scope(user.id))
/// let articles = layer.reactor([Article].self)
/// ```
///
/// Make one layer for each signed-in user: records of one scope are never served to another. Sign
/// out with ``signOut()``.
public final class ModelLayer: Sendable {
  package let layer: LayerContext
  private let backend: Backend
  private let reactors = Mutex<[ObjectIdentifier: any Sendable]>([:])

  /// Creates a layer over a base URL.
  ///
  /// ```swift
  /// let layer = ModelLayer(baseURL: api, persistence: FilePersistence(directory: directory))
  /// ```
  ///
  /// - Parameters:
  ///   - persistence: The durable store. `nil`, the default, stores models in memory only.
  ///   - reachability: The source of connectivity. ``Reachability/always`` tries every request.
  ///   - scope: The owner of the records, usually a user. Default: `Scope.shared`.
  ///   - extensions: The features of other products, such as an outbox or a fleet. Default: none.
  public convenience init(
    baseURL: URL, transport: any Transport = URLSessionTransport(), persistence: (any Persistence)? = nil,
    reachability: any Reachability = .system, scope: Scope = .shared,
    configuration: ReactorConfiguration = .init(), extensions: [Extension] = []
  ) {
    self.init(
      backend: Backend(baseURL: baseURL, transport: transport, reachability: reachability), persistence: persistence,
      scope: scope, configuration: configuration, extensions: extensions)
  }

  /// Creates a layer over a backend, which may have middlewares and authentication.
  ///
  /// ```swift
  /// let backend = Backend(baseURL: api, authentication: BearerToken(token, origins: [api]))
  /// let layer = ModelLayer(
  ///   backend: backend, persistence: FilePersistence(directory: directory), scope: Scope(user))
  /// ```
  ///
  /// - Parameters:
  ///   - persistence: The durable store. `nil`, the default, stores models in memory only.
  ///   - scope: The owner of the records, usually a user. Default: `Scope.shared`.
  ///   - extensions: The features of other products, such as an outbox or a fleet. Default: none.
  public init(
    backend: Backend, persistence: (any Persistence)? = nil, scope: Scope = .shared,
    configuration: ReactorConfiguration = .init(), extensions: [Extension] = []
  ) {
    var backend = backend
    if let logging = backend.logging as? any QueryHiding {
      backend.logging = logging.hiding(configuration.secretQueryItems)
    }
    self.backend = backend
    layer = LayerContext(
      backend: backend, persistence: persistence, scope: scope, configuration: configuration,
      upstream: extensions.makeUpstream)
    layer.connect(extensions)
  }

  /// The owner of the layer's records, part of every key.
  public var scope: Scope { layer.scope }

  /// Returns the layer's reactor for a model type: the same instance on every call.
  ///
  /// ```swift
  /// let stories = layer.reactor([Story].self)
  /// ```
  public func reactor<Model: Sendable>(_ model: Model.Type = Model.self) -> Reactor<Model> {
    // Two calls may race to make the reactor. The first to store it wins.
    let id = ObjectIdentifier(model)
    if let reactor = reactors.withLock({ $0[id] }) as? Reactor<Model> { return reactor }
    let made: Reactor<Model> = reactor(model, parser: nil)
    let kept = reactors.withLock { reactors in
      reactors[id] = reactors[id] ?? made
      return reactors[id]
    }
    return kept as? Reactor<Model> ?? made
  }

  /// Returns a new reactor that shares the layer, with its own parser or configuration.
  ///
  /// ```swift
  /// var live = configuration
  /// live.freshFor = .seconds(5)
  /// let scores = layer.reactor([Story].self, parser: nil, configuration: live)
  /// ```
  ///
  /// - Parameters:
  ///   - parser: The parser; `nil` chooses it by the type.
  ///   - configuration: The configuration; `nil` is the layer's.
  public func reactor<Model: Sendable>(
    _ model: Model.Type = Model.self, parser: Parser<Model>?, configuration: ReactorConfiguration? = nil
  ) -> Reactor<Model> {
    Reactor(flow: flow(model, parser: parser, configuration: configuration))
  }

  /// Returns the steps of this layer's reactors, for you to wrap or replace.
  ///
  /// Make a ``Reactor`` of the result. ``ReactorFlow`` has an example.
  public func flow<Model: Sendable>(
    _ model: Model.Type = Model.self, parser: Parser<Model>? = nil, configuration: ReactorConfiguration? = nil
  ) -> ReactorFlow<Model> {
    ReactorFlow(
      layer: layer, backend: backend, parser: parser, configuration: configuration ?? layer.configuration)
  }

  /// The current numbers of the layer and its reactors, for gauges and counters. Reading them is
  /// cheap, and counting costs a memory hit nothing.
  ///
  /// ```swift
  /// gauge.record(layer.statistics.bytes)
  /// ```
  public var statistics: ModelLayer.Statistics { layer.statistics }

  /// The events of the layer's reactors, as a sequence.
  ///
  /// ```swift
  /// for await event in layer.events { print(event) }
  /// ```
  ///
  /// Each iterator observes from its creation until its release. It buffers at most 1,024 events
  /// for a slow reader; one ``ReactorEvent/Kind/dropped(_:)`` counts those lost beyond that. The
  /// sequence ends when the layer and its reactors are released.
  public var events: some AsyncSequence<ReactorEvent, Never> & Sendable { ReactorEvents(hub: layer.events) }

  /// Calls `body` with every event, in order, one call at a time.
  ///
  /// ```swift
  /// let token = layer.observeEvents { event in print(event) }
  /// ```
  ///
  /// The thread that caused the event calls `body` before it continues, unless another thread is
  /// already delivering events. A slow observer blocks no thread for long: after a while, a task of
  /// the layer delivers the rest. At most 16,384 events wait; one ``ReactorEvent/Kind/dropped(_:)``
  /// counts those lost beyond that.
  ///
  /// The observation ends when the token is cancelled or released, so store the token. To observe
  /// for as long as an object lives, without a token, call ``observeEvents(for:_:)``.
  public func observeEvents(_ body: @escaping @Sendable (ReactorEvent) -> Void) -> ModelLayer.ObservationToken {
    layer.events.observe(body)
  }

  /// Waits until the observers were called with every event that was emitted before.
  ///
  /// Another thread or a task of the layer may still be delivering an event when the work that
  /// caused it has returned. A program that exits then, or a test, calls this first:
  ///
  /// ```swift
  /// _ = try? await posts.fetch("posts")
  /// await layer.flushEvents()  // the observers have seen each event of the fetch
  /// ```
  ///
  /// Cancellation does not end the wait; it lasts as long as the observers take. Readers of
  /// ``events`` may still have events to read.
  public func flushEvents() async { await layer.events.flush() }

  /// Calls `body` with every event for as long as `owner` lives; see ``observeEvents(_:)``.
  ///
  /// ```swift
  /// layer.observeEvents(for: self) { model, event in model.count(event) }
  /// ```
  ///
  /// The observation does not retain `owner`. To observe for as long as the layer lives, pass the
  /// layer.
  public func observeEvents<Owner: AnyObject & Sendable>(
    for owner: Owner, _ body: @escaping @Sendable (Owner, ReactorEvent) -> Void
  ) {
    layer.events.observe(for: owner, body)
  }

  /// Sends a request that may change something on the server, and ignores the body of its response.
  ///
  /// ```swift
  /// try await layer.send(Resource("posts/\(id)", method: .delete))
  /// ```
  ///
  /// It behaves like ``Reactor/send(_:)`` in all else.
  ///
  /// - Throws: The errors of ``Reactor/send(_:)``.
  public func send(_ resource: Resource) async throws(ReactorError) { try await reactor(Void.self).send(resource) }

  /// Sends a request as ``send(_:)`` does, and reports its progress.
  ///
  /// ```swift
  /// try await layer.send(Resource("photos", form: [.file("photo", at: file)])) { progress in
  ///   print(progress.fractionCompleted)
  /// }
  /// ```
  ///
  /// - Parameter progress: Called as ``Reactor/send(_:progress:)`` describes.
  /// - Throws: The errors of ``Reactor/send(_:)``.
  public func send(
    _ resource: Resource, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(ReactorError) { try await reactor(Void.self).send(resource, progress: progress) }

  /// Declares resources stale, in memory and on disk, for every model type.
  ///
  /// ```swift
  /// await layer.invalidate(.group("feed"), .under("posts"))
  /// ```
  ///
  /// Open streams fetch again, and requests in flight begin again. A response under way that turns
  /// out to belong to one of the groups arrives stale.
  ///
  /// The method returns when the disk is marked too. To find groups and paths there, it lists the
  /// layer's records. If that fails, or a record cannot be marked, an event reports it
  /// (``ReactorEvent/Kind/saveFailed(_:)``). A resource that cannot be requested is ignored.
  public func invalidate(_ resources: ResourceSet...) async {
    await layer.invalidate(resources)
  }

  /// Evicts every model from memory that is neither observed nor waited for, without waiting for
  /// ``ReactorConfiguration/keepUnusedFor``.
  ///
  /// ```swift
  /// layer.evictUnused()
  /// ```
  ///
  /// The disk keeps its records, so the next fetch of such a model reads it from there. Each
  /// eviction is an event. A ``ReactorConfiguration/memoryPressure`` calls it.
  public func evictUnused() { layer.evictUnused() }

  /// Signs the user out: discards the credential, then everything stored, as ``removeAll()`` does.
  ///
  /// ```swift
  /// try await layer.signOut()
  /// ```
  ///
  /// A credential refresh in flight is dropped, waiting callers get ``ReactorError/cancelled``, and
  /// open streams show no value.
  ///
  /// Later fetches through an `AuthenticationMiddleware` of ReactorMiddleware send nothing. They
  /// fail with ``ReactorError/authentication(_:)``, whose error is ``ReactorError/SignedOut``,
  /// until `AuthenticationMiddleware.signIn(_:)`. For another user, make another layer with that
  /// user's `Scope`.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` if the disk could not be cleared. Memory and the
  ///   credential are cleared nevertheless.
  public func signOut() async throws(ReactorError) {
    // First, so that no request uses the credential after the store is cleared.
    backend.signOut()
    try await removeAll()
  }

  /// Removes everything that this scope stores, in memory and on disk.
  ///
  /// ```swift
  /// try await layer.removeAll()  // the user stays signed in
  /// ```
  ///
  /// Waiting callers get ``ReactorError/cancelled``, open streams show no value, and answers that
  /// arrive later are dropped.
  ///
  /// A request that may change something on the server, such as a POST, continues. The server may
  /// have carried it out already, so its caller gets the answer, which is not stored.
  ///
  /// The user stays signed in: the next fetch uses the same credential. To end a session, call
  /// ``signOut()``.
  ///
  /// A caller that is cancelled while it waits for saves in flight gets ``ReactorError/cancelled``
  /// at once. The disk is cleared nevertheless.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` if the disk could not be cleared; memory is cleared
  ///   nevertheless. ``ReactorError/deadlock(keys:)`` if a step of a flow calls it and would wait
  ///   forever.
  public func removeAll() async throws(ReactorError) { try await layer.removeAll() }
}
