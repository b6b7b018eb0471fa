import Foundation
import HTTPTypes

/// Requests of a layer whose responses other processes share.
extension HTTPFlow {
  /// Returns the response to a request: another process's, if it may be used, or else the server's.
  func response(
    to request: HTTPRequest, isConditional: Bool, _ resource: Resource, _ key: RecordKey, _ context: FetchContext<Model>
  ) async throws -> HTTPFlowResponse {
    guard let upstream = layer.upstream, !context.isUnshared, resource.readsOnly, request.method == .get,
      resource.body == nil
    else {
      return try await exchange(request, isConditional: isConditional, resource, key, context)
    }
    let asked = UpstreamRequest(
      request: request, key: RecordKey.get(key), asksServer: context.asksServer,
      send: { request, isConditional, isAwaited in
        try await self.exchange(
          request, isConditional: isConditional, resource, key, isAwaited ? context : FetchContext())
      },
      shared: { bytes, isAwaited in
        if isAwaited { context.record?.share() }
        self.emit(key, .sharedHit(bytes: bytes))
      })
    return try await upstream.response(to: asked)
  }
}
