import Foundation
import HTTPTypes
import Synchronization

extension ReactorEngine {
  /// A request that may change something on the server: never coalesced, stored or served. When the server has
  /// accepted it, what is stored for its URL is invalidated (RFC 9111 §4.4).
  func send(_ resource: Resource) async throws(ReactorError) -> CachedModel {
    guard !resource.readsOnly else {
      throw .invalidResource(
        "\(resource.method.rawValue) only reads; use fetch(_:), or set isReadOnly to false if it changes something")
    }
    let key = try flow.key(resource)
    guard flow.isReachable else { throw .noConnectivity }
    let wait = LockOwner.wait()
    defer { wait?.end() }
    let outcome = await OneShot<KeyState.Outcome>.value(
      on: flow.configuration.taskExecutor, for: LockOwner(wait), orIfCancelled: .failure(.cancelled), endsTask: true
    ) { await self.exchange(resource, key) }
    return try outcome.get()
  }

  private func exchange(_ resource: Resource, _ key: RecordKey) async -> KeyState.Outcome {
    var context = FetchContext<AnyModel>()
    let trail = RedirectTrail()
    context.trail = trail
    do {
      let snapshot = try await flow.network(resource, context)
      let answer = snapshot.head.map { HTTPResponse(status: $0.status, headerFields: $0.fields) }
      await invalidate(changed(by: trail, key, isAccepted: true, answer))
      return .success(CachedModel(snapshot, of: key, origin: .network))
    } catch {
      let error = ReactorError(error, wrap: ReactorError.network)
      switch error {
      // Nothing was sent.
      case .parser(let error) where error.reason == .unsupported: break
      // The server has accepted it; only its answer could not be read.
      case .parser: await invalidate(changed(by: trail, key, isAccepted: true, nil))
      // It may have done so with a redirect that nobody follows.
      case .server(let response, _):
        let isAccepted = Invalidation.isAcceptance(response)
        await invalidate(changed(by: trail, key, isAccepted: isAccepted, response))
      default: await invalidate(changed(by: trail, key, isAccepted: false, nil))
      }
      append(key, .failed(error))
      layer.events.deliver()
      return .failure(error)
    }
  }

  /// What is stale after a change (RFC 9111 §4.4): the key where the server has accepted it, and what each hop has changed
  /// and names, whatever became of the next.
  ///
  /// - Parameter answer: counts where there is no trail, as of a step of one's own.
  private func changed(
    by trail: RedirectTrail, _ key: RecordKey, isAccepted: Bool, _ answer: HTTPResponse?
  ) -> [RecordKey] {
    let hops = trail.hops
    var urls = hops.flatMap { Invalidation.urls(of: $0.request, $0.response) }
    if hops.isEmpty, let answer { urls = Invalidation.relatedURLs(in: answer, to: key.method, key.url) }
    var keys = isAccepted || hops.contains(where: \.isFollowed) ? [RecordKey.get(key)] : []
    for url in urls {
      let other = RecordKey(
        method: .get, url: url, scope: key.scope, secretQueryItems: flow.configuration.secretQueryItems,
        digests: layer.cache.digests)
      if !keys.contains(other) { keys.append(other) }
    }
    return keys
  }

  /// In a task of its own: what was cancelled after the server had accepted it has changed something too.
  private func invalidate(_ keys: [RecordKey]) async {
    guard !keys.isEmpty else { return }
    await spawn(on: flow.configuration.taskExecutor, priority: Task.currentPriority, for: LockOwner.current) {
      for key in keys { await self.invalidateURL(of: key) }
    }.value
  }

  private func invalidateURL(of key: RecordKey) async {
    var keys = Set([RecordKey.get(key)] + layer.keys(of: key.url))
    if let stored = try? await layer.cache.keys(of: key.url, in: layer.scope) { keys.formUnion(stored) }
    // In an order that is the same in each run.
    for key in keys.sorted(by: { $0.identity < $1.identity }) {
      let ticket = layer.generations.beginInvalidation(key)
      // Not before: what has been committed until the fence is from before this.
      let date = now
      layer.announce(.invalidated(key, date))
      await invalidateOnDisk(ticket, date)
    }
  }
}
