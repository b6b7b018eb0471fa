package import Foundation
package import HTTPCaching
import HTTPTypes
import Synchronization

/// The values that the server has confirmed, for a write that is made from them.
extension LayerContext {
  /// A value without pending changes, and the response that it was made from.
  package struct Confirmed<Model: Sendable>: Sendable {
    package let model: Model?
    /// The head of that response; `nil` if no response is stored, or a local value has replaced it.
    package let head: Record.Head?
    /// The numbers of the accepted writes that have changed the response's value. If there are any,
    /// its entity tag does not describe the value.
    package let acceptedWrites: Set<UUID>

    fileprivate init(_ confirmed: ReactorEngine.ConfirmedCopy) {
      model = confirmed.model?.model(as: Model.self)
      head = confirmed.copy?.head.flatMap { $0.localModel == nil ? $0 : nil }
      acceptedWrites = confirmed.acceptedWrites
    }

    /// A response that has just been fetched, which has every write that was accepted before.
    fileprivate init(_ model: AnyModel, _ head: Record.Head?) {
      self.model = model.model(as: Model.self)
      self.head = head.flatMap { $0.localModel == nil ? $0 : nil }
      acceptedWrites = []
    }
  }

  /// Returns the value without pending changes: from memory, else from persistence. It never sends
  /// a request.
  package func confirmed<Model: Sendable>(_ resource: Resource, as type: Model.Type) async -> Confirmed<Model> {
    for engine in engines(of: type) {
      // Without a base, changes make no value: the base may be on disk.
      let confirmed = engine.confirmedCopy(resource)
      if confirmed.copy != nil, confirmed.model != nil { return Confirmed(confirmed) }
    }
    let engine = engine(of: type)
    _ = try? await engine.fetch(resource, .cacheOnly)
    return Confirmed(engine.confirmedCopy(resource))
  }

  /// Fetches a value from the network, whatever is stored, into memory and persistence.
  ///
  /// - Returns: The server's value, even if it may not be stored.
  package func refresh<Model: Sendable>(
    _ resource: Resource, as type: Model.Type
  ) async throws(ReactorError) -> Confirmed<Model> {
    let copy = try await engine(of: type).fetch(resource, .networkOnly).copy
    return Confirmed(copy.model, copy.head)
  }

  /// Fetches a value without a content coding (RFC 9110 §12.5.3), for the entity tag of the
  /// server's value. A server or proxy that compresses a response may give it a weak tag, or a tag
  /// that it does not recognize later.
  ///
  /// The request has no validators, and the response is neither shared nor stored.
  @concurrent package func fetchUncoded<Model: Sendable>(
    _ resource: Resource, as type: Model.Type
  ) async throws(ReactorError) -> Confirmed<Model> {
    var resource = resource
    resource.headers[.acceptEncoding] = "identity"
    let engine = engine(of: type)
    guard isReachable(configuration) else { throw .noConnectivity }
    var context = FlowContext()
    (context.hasAskedPersistence, context.isUnshared) = (true, true)
    do {
      let snapshot = try await engine.flow.network(resource, context)
      return Confirmed(snapshot.model, snapshot.head)
    } catch {
      throw ReactorError(error, wrap: ReactorError.network)
    }
  }

  /// Returns the head of the newest response that memory or persistence has; `nil` if neither has
  /// one, or a local value has replaced it.
  package func head(of resource: Resource) async -> Record.Head? {
    guard let key = try? key(resource) else { return nil }
    let inMemory = livingMembers.compactMap { $0.head(of: key) }.max { $0.receivedAt < $1.receivedAt }
    let onDisk = (try? await cache.lookUp(key, for: resource.headers))??.head
    guard let onDisk else { return inMemory }
    if onDisk.localModel != nil { return nil }
    guard let inMemory else { return onDisk }
    return inMemory.receivedAt > onDisk.receivedAt ? inMemory : onDisk
  }

  private func engines<Model>(of type: Model.Type) -> [ReactorEngine] {
    livingMembers.compactMap { $0 as? ReactorEngine }.filter { engine in
      engine.state.withLock { $0.model } == ObjectIdentifier(type)
    }
  }

  private func engine<Model: Sendable>(of type: Model.Type) -> ReactorEngine {
    if let engine = engines(of: type).first { return engine }
    // Without a backend there is no outbox, so a flow whose requests fail suffices.
    let backend = backend ?? Backend(baseURL: URL(filePath: "/"))
    return ReactorEngine(ReactorFlow<Model>(layer: self, backend: backend, parser: nil, configuration: configuration))
  }
}
