import Foundation
import HTTPCaching
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
    var asked = request
    if context.asksServer { asked.headerFields.append(HTTPField(name: .cacheControl, value: "no-cache")) }
    var response: HTTPFlowResponse
    switch await upstream.plan(for: asked, scope: layer.scope, at: configuration.now()) {
    case .answer(let answer): response = try shared(answer, key, context)
    case .answerAndSend(let answer, let sent):
      response = try shared(answer, key, context)
      _ = spawnApart(on: configuration.taskExecutor) {
        _ = try? await self.send(sent, through: upstream, resource, key, FetchContext())
      }
    case .send(let sent):
      response = try await send(sent, through: upstream, resource, key, context)
    }
    // Nobody would tell when it is out of date.
    if upstream.tier?.follows(RecordKey.get(key)) == false {
      response.response.headerFields.append(HTTPField(name: .cacheControl, value: "no-cache"))
    }
    return response
  }

  /// Returns a response of the shared cache as one that has just arrived, of the age that it
  /// states.
  private func shared(
    _ answer: CacheResponse, _ key: RecordKey, _ context: FetchContext<Model>
  ) throws -> HTTPFlowResponse {
    if case .none = answer.source { throw ReactorError.network(FailedElsewhere()) }
    context.record?.share()
    emit(key, .sharedHit(bytes: answer.body.count))
    let now = configuration.now()
    return HTTPFlowResponse(
      response: answer.response, body: answer.body, requestedAt: now, receivedAt: now, redirects: [])
  }

  private func send(
    _ sent: CacheRequest, through upstream: HTTPCache, _ resource: Resource, _ key: RecordKey,
    _ context: FetchContext<Model>
  ) async throws -> HTTPFlowResponse {
    var request = sent.request
    if context.asksServer {
      // That was for the cache alone.
      let own = HTTPFields(request.headerFields.filter { $0.name == .cacheControl }.dropLast())
      request.headerFields[fields: .cacheControl] = Array(own)
    }
    let isConditional = [.ifNoneMatch, .ifModifiedSince].contains { (name: HTTPField.Name) in
      request.headerFields.contains(name)
    }
    do {
      var received = try await exchange(request, isConditional: isConditional, resource, key, context)
      var response = received.response
      // Each step of its way would limit it, for everybody.
      if !received.redirects.isEmpty { response.headerFields[.cacheControl] = "no-store" }
      let answer = await upstream.receive(response, body: received.body, for: sent, at: received.receivedAt)
      if let retry = answer.retry { return try await send(retry, through: upstream, resource, key, context) }
      if received.redirects.isEmpty { (received.response, received.body) = (answer.response, answer.body) }
      return received
    } catch let error as CancellationError {
      throw error
    } catch {
      guard !Task.isCancelled, let stale = upstream.staleAnswer(for: sent, at: configuration.now()) else { throw error }
      return try shared(stale, key, context)
    }
  }
}

/// The error for a request that another process has sent a moment ago, without success.
package struct FailedElsewhere: Error, CustomStringConvertible {
  package var description: String {
    "another process has asked the server a moment ago, which failed; try again in a second"
  }
}
