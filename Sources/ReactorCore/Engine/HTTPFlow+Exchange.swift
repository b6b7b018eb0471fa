import Foundation
import HTTPTypes
import Synchronization

/// The attempt that was answered.
struct HTTPFlowExchange: Sendable {
  let response: HTTPResponse
  let body: Data
  /// The answer's age is computed from it (RFC 9111 §4.2.3).
  let requestedAt: Date
  let receivedAt: Date
  /// Those that were followed, as far as the transport tells.
  let redirects: [HTTPResponse]
}

extension HTTPFlow {
  /// Sends a request, as often as the configuration says.
  func exchange(
    _ request: HTTPRequest, isConditional: Bool, _ resource: Resource, _ key: RecordKey, _ context: FetchContext<Model>
  ) async throws -> HTTPFlowExchange {
    let (_, exchange) = try await retry.attempts(
      request, isReadOnly: resource.isReadOnly, observe: { emit(key, .init($0)) }
    ) {
      // Who is gone by now, as after an invalidation, asks nobody.
      try Task.checkCancellation()
      guard !core.isOffline.load(ordering: .relaxed) else { throw ReactorError.noConnectivity }
      context.sends()
      emit(key, .request(isConditional: isConditional))
      let (requestedAt, started, trail) = (configuration.now(), ContinuousClock.now, RedirectTrail())
      // What an attempt has changed, it has changed whether it fails or not.
      defer { context.trail?.leave(trail.hops) }
      let (response, body) = try await backend.send(
        request, body: resource.body, trail: trail, progress: context.progress)
      if trail.hops.isEmpty {
        trail.leave(RedirectTrail.Hop(request: request, response: response, isFollowed: false))
      }
      emit(
        key, .response(status: response.status.code, bytes: body.count, duration: started.duration(to: .now)))
      let exchange = HTTPFlowExchange(
        response: response, body: body, requestedAt: requestedAt, receivedAt: configuration.now(),
        redirects: trail.redirects)
      return (response, exchange)
    }
    return exchange
  }

  /// What the answer says about the stored record.
  ///
  /// - Parameter stored: whose validators were sent; `nil` where none were.
  func judge(
    _ exchange: HTTPFlowExchange, _ resource: Resource, _ key: RecordKey, stored: Record.Head?
  ) -> HTTPCache.Answer {
    var response = exchange.response
    response.headerFields = RedirectedAnswer.fields(
      of: response, after: exchange.redirects, receivedAt: exchange.receivedAt,
      fallback: configuration.freshFor.inSeconds, staleIfError: configuration.staleIfError.inSeconds)
    // Of what may change something nothing is stored, and its names are looked up as they are.
    if resource.readsOnly {
      response.headerFields = SecretQuery.redact(
        response.headerFields, names: configuration.secretQueryItems, digests: core.cache.digests)
    }
    // Another URL's 304 says nothing of what is stored for this one.
    return HTTPCache.judge(
      response, body: exchange.body, to: resource.headers, for: key,
      stored: exchange.redirects.isEmpty ? stored : nil, requestedAt: exchange.requestedAt,
      receivedAt: exchange.receivedAt)
  }
}
