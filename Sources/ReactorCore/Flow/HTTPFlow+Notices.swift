import HTTPTypes

/// The answers of a server that say how it is to be asked.
extension HTTPFlow {
  /// Sends a QUERY as the server takes it: with ``Resource/fallbackMethod`` where it does not know
  /// the method, if the program allows that.
  func exchangeQuery(
    _ request: HTTPRequest, of resource: Resource, _ key: RecordKey,
    _ send: (HTTPRequest) async throws -> HTTPFlowResponse
  ) async throws -> HTTPFlowResponse {
    guard request.method == .query, let method = resource.fallbackMethod else { return try await send(request) }
    let lack = QuerySupport.Lack.method(of: request)
    if !layer.querySupport.contains(lack) {
      let answer = try await send(request)
      guard answer.response.lacksQuery else { return answer }
      layer.querySupport.note(lack)
    }
    emit(key, .methodReplaced(by: method))
    // With another method, a validator that matches means 412 (RFC 9110 §13.1.2).
    var request = request.withoutValidators
    request.method = method
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
