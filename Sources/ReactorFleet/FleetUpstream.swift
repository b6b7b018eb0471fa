import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorCore

/// The cache between a layer and the server, whose tier is a fleet.
final class FleetUpstream: LayerUpstream {
  /// The limit of its responses in bytes, which serve validations and other layers.
  private static let limit = 16 << 20

  private let fleet: Fleet
  private let cache: ProxyCache

  /// - Parameter layer: The cache of the layer, under whose key secrets are digested.
  init(_ fleet: Fleet, _ layer: HTTPCache, _ configuration: ReactorConfiguration) {
    self.fleet = fleet
    cache = ProxyCache(
      limit: Self.limit, tier: fleet, digests: layer.digests, secretQueryItems: configuration.secretQueryItems)
  }

  func advance() { fleet.advance() }

  func follows(_ key: RecordKey) -> Bool { fleet.follows(key) }

  func observe(_ body: @escaping @Sendable (Set<RecordKey>?) -> Void) -> any Sendable & AnyObject {
    fleet.observe { change in
      switch change {
      case .keys(let keys): body(keys)
      case .all: body(nil)
      }
    }
  }

  func change(_ key: RecordKey, isRemoved: Bool, at date: Date) async {
    // The store in memory does not fail.
    if isRemoved { try? await cache.remove(key) } else { try? await cache.invalidate(key, at: date) }
  }

  func removeAll(in scope: Scope) async { try? await cache.removeAll(in: scope) }

  func response(to asked: UpstreamRequest) async throws -> HTTPFlowResponse {
    var request = asked.request
    if asked.asksServer { request.headerFields.append(HTTPField(name: .cacheControl, value: "no-cache")) }
    var response: HTTPFlowResponse
    switch await cache.plan(for: request, scope: asked.key.scope, at: asked.configuration.now()) {
    case .answer(let answer): response = try shared(answer, asked, isAwaited: true)
    case .answerAndSend(let answer, let exchange):
      response = try shared(answer, asked, isAwaited: true)
      _ = spawnApart(on: asked.configuration.taskExecutor) {
        _ = try? await self.send(exchange, for: asked, isAwaited: false)
      }
    case .send(let exchange): response = try await send(exchange, for: asked, isAwaited: true)
    }
    // No invalidation will arrive for this URL, so force revalidation.
    if !fleet.follows(asked.key) {
      response.response.headerFields.append(HTTPField(name: .cacheControl, value: "no-cache"))
    }
    return response
  }

  private func shared(
    _ answer: CacheResponse, _ asked: UpstreamRequest, isAwaited: Bool
  ) throws -> HTTPFlowResponse {
    if case .none = answer.source { throw ReactorError.network(FailedElsewhere()) }
    asked.shared(answer.body.count, isAwaited)
    return HTTPFlowResponse(shared: answer.response, answer.body, at: asked.configuration.now())
  }

  private func send(
    _ exchange: CacheRequest, for asked: UpstreamRequest, isAwaited: Bool
  ) async throws -> HTTPFlowResponse {
    var request = exchange.request
    if isAwaited, asked.asksServer {
      // The origin must not see our `no-cache`.
      let own = HTTPFields(request.headerFields.filter { $0.name == .cacheControl }.dropLast())
      request.headerFields[fields: .cacheControl] = Array(own)
    }
    let isConditional = [.ifNoneMatch, .ifModifiedSince].contains { (name: HTTPField.Name) in
      request.headerFields.contains(name)
    }
    do {
      var received = try await asked.send(request, isConditional, isAwaited)
      var response = received.response
      // Other servers do not know the limits of each redirect.
      if !received.redirects.isEmpty { response.headerFields[.cacheControl] = "no-store" }
      let answer = await cache.receive(response, body: received.body, for: exchange, at: received.receivedAt)
      if let retry = answer.retry { return try await send(retry, for: asked, isAwaited: isAwaited) }
      if received.redirects.isEmpty { (received.response, received.body) = (answer.response, answer.body) }
      return received
    } catch let error as CancellationError {
      throw error
    } catch {
      guard !Task.isCancelled, let stale = cache.staleAnswer(for: exchange, at: asked.configuration.now()) else {
        throw error
      }
      return try shared(stale, asked, isAwaited: isAwaited)
    }
  }
}
