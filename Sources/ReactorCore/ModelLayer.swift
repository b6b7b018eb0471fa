public import Foundation
import Synchronization

/// What the reactors of one backend and one scope share: transport, persistence, ordering and events.
///
/// ```swift
/// let layer = ModelLayer(baseURL: api, persistence: FilePersistence(directory: caches), scope: Scope(user.id))
/// let articles = layer.reactor([Article].self)
/// ```
///
/// One user, one layer: what one scope stored is never served to another. Sign out with ``signOut()``.
public final class ModelLayer: Sendable {
  let layer: LayerContext
  private let backend: Backend
  private let reactors = Mutex<[ObjectIdentifier: any Sendable]>([:])

  public convenience init(
    baseURL: URL, transport: any Transport = URLSessionTransport(), persistence: (any Persistence)? = nil,
    reachability: any Reachability = SystemReachability(), scope: Scope = .shared,
    configuration: ReactorConfiguration = .init()
  ) {
    self.init(
      backend: Backend(baseURL: baseURL, transport: transport, reachability: reachability), persistence: persistence,
      scope: scope, configuration: configuration)
  }

  /// A layer over a backend with middlewares.
  public init(
    backend: Backend, persistence: (any Persistence)? = nil, scope: Scope = .shared,
    configuration: ReactorConfiguration = .init()
  ) {
    self.backend = backend
    layer = LayerContext(backend: backend, persistence: persistence, scope: scope, configuration: configuration)
  }

  public var scope: Scope { layer.scope }

  /// The layer's reactor of this model type: the same one at each call.
  public func reactor<Model: Sendable>(_ model: Model.Type = Model.self) -> Reactor<Model> {
    // Two reactors may be made at once; the one that is put down first is everybody's.
    let id = ObjectIdentifier(model)
    if let reactor = reactors.withLock({ $0[id] }) as? Reactor<Model> { return reactor }
    let made: Reactor<Model> = reactor(model, parser: nil)
    let kept = reactors.withLock { reactors in
      reactors[id] = reactors[id] ?? made
      return reactors[id]
    }
    return kept as? Reactor<Model> ?? made
  }

  /// Another reactor of this type that shares the layer, with a parser or a configuration of its own.
  ///
  /// - Parameters:
  ///   - parser: `nil`: chosen by the type.
  ///   - configuration: `nil`: the layer's.
  public func reactor<Model: Sendable>(
    _ model: Model.Type = Model.self, parser: Parser<Model>?, configuration: ReactorConfiguration? = nil
  ) -> Reactor<Model> {
    Reactor(flow: flow(model, parser: parser, configuration: configuration))
  }

  /// The steps that a reactor of this layer takes, to wrap or replace one of them and make a ``Reactor`` of the result.
  public func flow<Model: Sendable>(
    _ model: Model.Type = Model.self, parser: Parser<Model>? = nil, configuration: ReactorConfiguration? = nil
  ) -> ReactorFlow<Model> {
    ReactorFlow(
      layer: layer, backend: backend, parser: parser, configuration: configuration ?? layer.configuration)
  }

  /// What happens, as a sequence. It holds at most 1,024 events for a slow reader; what is lost beyond that is told by one
  /// ``ReactorEvent/Kind/dropped(_:)``. Observation begins with the iterator and ends with it. The sequence ends when the
  /// layer and its reactors are gone.
  public var events: some AsyncSequence<ReactorEvent, Never> & Sendable { ReactorEvents(hub: layer.events) }

  /// Calls `body` with every event, in order, one call at a time. Its call is over before whoever caused the event goes on,
  /// unless another thread is in a call of it. A slow observer holds nobody for long: a task of the layer's delivers what
  /// has piled up. Of that, 16,384 events are kept; beyond it, one ``ReactorEvent/Kind/dropped(_:)`` says how many were
  /// lost.
  ///
  /// Ends when the token is cancelled or released, so keep the token. To observe for as long as an object lives, without a
  /// token, call ``observeEvents(for:_:)``.
  public func observeEvents(_ body: @escaping @Sendable (ReactorEvent) -> Void) -> EventToken {
    layer.events.observe(body)
  }

  /// Calls `body` with every event for as long as `owner` lives, which it does not keep alive; see ``observeEvents(_:)``.
  ///
  /// ```swift
  /// layer.observeEvents(for: self) { model, event in model.count(event) }
  /// ```
  ///
  /// Give the layer itself to observe for as long as that lives.
  public func observeEvents<Owner: AnyObject & Sendable>(
    for owner: Owner, _ body: @escaping @Sendable (Owner, ReactorEvent) -> Void
  ) {
    layer.events.observe(for: owner, body)
  }

  /// Sends a request that may change something on the server, whose response has no model; see ``Reactor/send(_:)``.
  ///
  /// ```swift
  /// try await layer.send(Resource("posts/\(id)", method: .delete))
  /// ```
  ///
  /// - Throws: what ``Reactor/send(_:)`` does.
  public func send(_ resource: Resource) async throws(ReactorError) { try await reactor(Void.self).send(resource) }

  /// Signs the user out: the backend's middlewares forget the credential, and then ``removeAll()`` forgets what is stored.
  ///
  /// A refresh under way is dropped, callers that wait get ``ReactorError/cancelled``, and open streams show nothing. From
  /// then on a fetch through an ``AuthenticationMiddleware`` sends nothing: it fails with
  /// ``ReactorError/authentication(_:)`` of ``SignedOut``, until ``AuthenticationMiddleware/signIn(_:)``. For another user
  /// make another layer, with that user's `Scope`.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` where the disk could not be cleared; memory and the credential are gone.
  public func signOut() async throws(ReactorError) {
    // First, so that nothing new is asked for with the credential after what is stored has gone.
    backend.signOut()
    try await removeAll()
  }

  /// Forgets all that this scope has, in memory and on disk. Callers that wait for a value get
  /// ``ReactorError/cancelled``, open streams show nothing, and what answers later is dropped.
  ///
  /// A request that may change something on the server, such as a POST, goes on. The server may have carried it out
  /// already, so its caller gets the answer, which is stored nowhere.
  ///
  /// The user stays signed in: the next fetch asks with the same credential. To end a session call ``signOut()``.
  ///
  /// A caller that is cancelled while it waits for saves under way gets ``ReactorError/cancelled`` at once; the disk is cleared all
  /// the same.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` where the disk could not be cleared; memory is. ``ReactorError/deadlock(keys:)``
  ///   where a step of a flow calls it and would wait for ever.
  public func removeAll() async throws(ReactorError) { try await layer.removeAll() }
}
