import Foundation
import HTTPTypes

/// The answers of a server that say how it is to be asked.
extension HTTPFlow {
  /// Sends a QUERY as the server takes it: with ``Resource/fallbackMethod`` where it does not know
  /// the method, if the program allows that.
  func exchangeQuery(
    _ request: HTTPRequest, of resource: Resource, _ key: RecordKey,
    _ send: (HTTPRequest) async throws -> HTTPFlowResponse
  ) async throws -> HTTPFlowResponse {
    guard request.method == .query, resource.fallbackMethod == .post else { return try await send(request) }
    let lack = QuerySupport.Lack.method(of: request)
    var refusal: HTTPFlowResponse?
    if !layer.querySupport.contains(lack) {
      let answer = try await send(request)
      guard answer.response.lacksQuery, answer.redirects.isEmpty else { return answer }
      refusal = answer
    }
    emit(key, .methodReplaced(by: .post))
    // With another method, a validator that matches means 412 (RFC 9110 §13.1.2).
    var post = request.withoutValidators
    post.method = .post
    let answer = try await send(post)
    // Then a GET without the body was sent, whose response is to another question.
    if let redirect = answer.redirects.first(where: { [301, 302].contains($0.status.code) }) {
      throw ReactorError.server(redirect, body: Data())
    }
    guard [405, 501].contains(answer.response.status.code) else {
      layer.querySupport.note(lack)
      return answer
    }
    // The server knows neither method here, or QUERY alone since it was asked last.
    layer.querySupport.forget(lack)
    if let refusal { return refusal }
    return try await send(request)
  }

  /// Returns a request with the validators of `head`, unless the server has refused those of a
  /// QUERY.
  func conditional(_ request: HTTPRequest, on head: Record.Head?) -> HTTPRequest {
    guard request.method == .query, layer.querySupport.contains(.conditions(of: request)) else {
      return HTTPCache.conditional(request, on: head)
    }
    return request
  }

  /// Reports a notice of the server, the first time that it comes with a response of the path.
  func noteDeprecation(of request: HTTPRequest, _ exchange: HTTPFlowResponse, _ key: RecordKey) {
    guard let notice = ReactorEvent.Deprecation(exchange.response.headerFields, now: exchange.receivedAt) else {
      return
    }
    let path = request.path?.prefix { $0 != "?" } ?? ""
    if layer.deprecations.isNew(notice, of: "\(request.authority ?? "")\(path)") { emit(key, .deprecated(notice)) }
  }
}

extension LayerContext {
  /// Returns `true` if a response to `resource` is stored, although it may be unreadable, and not a
  /// value that this program has written.
  func holdsAnswer(_ key: RecordKey, to resource: Resource) async throws -> Bool {
    do {
      return try await cache.lookUp(key, for: resource.headers).map { !$0.head.isLocalWrite } ?? false
    } catch let error as CancellationError {
      throw error
    } catch {
      return true
    }
  }
}

extension HTTPRequest {
  /// The request without the conditions that ``HTTPCache/conditional(_:on:)`` adds.
  var withoutValidators: HTTPRequest {
    var request = self
    request.headerFields[.ifNoneMatch] = nil
    request.headerFields[.ifModifiedSince] = nil
    return request
  }
}

extension HTTPResponse.Status {
  /// A Boolean value that indicates whether the server, or a proxy before it, may have refused the
  /// validators of a request: a client error that says nothing of the resource, the user or the
  /// moment.
  var mayRefuseValidators: Bool {
    kind == .clientError && ![401, 404, 407, 408, 410, 421, 425, 429, 451].contains(code)
  }
}

extension ReactorEvent.Kind {
  init(_ pause: RetryMiddleware.Pause) {
    switch pause {
    case .backingOff(let attempt, let delay, let reason): self = .retry(attempt: attempt, after: delay, reason: reason)
    case .offline: self = .paused
    }
  }
}
