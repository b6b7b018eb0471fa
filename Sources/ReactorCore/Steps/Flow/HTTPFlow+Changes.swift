import Foundation
import HTTPTypes

/// The answers to requests that may change something.
extension HTTPFlow {
  /// Checks that a response is the answer to a change, and none to another request or of a page for
  /// a person.
  ///
  /// - Throws: ``ReactorError/Diverted`` as a ``ReactorError/network(_:)``.
  func checkRoute(
    of request: HTTPRequest, _ resource: Resource, _ context: Context, _ exchange: HTTPFlowResponse
  ) throws {
    guard !resource.readsOnly else { return }
    let route = WriteRoute(of: request, context.trail ?? RedirectTrail(), answer: (exchange.response, exchange.body))
    switch route.verdict(isSuccess: exchange.response.status.kind == .successful) {
    case .answered, .carriedOut: break
    case .notCarriedOut, .diverted: throw ReactorError.network(ReactorError.Diverted(to: route.target))
    }
  }

  /// Returns the outcome of a change that was made although its result is an error (RFC 9110
  /// §15.4.4), for a caller that reads no result.
  ///
  /// - Throws: The error, or ``ReactorError/Diverted`` if a redirect that was followed before says
  ///   more.
  func snapshot(
    ofChange request: HTTPRequest, _ resource: Resource, _ context: Context, after error: any Error
  ) throws -> Snapshot<AnyModel> {
    guard !resource.readsOnly, (error as? ReactorError)?.diverted == nil else { throw error }
    var answer: (HTTPResponse, Data)?
    if case .server(let response, let body)? = error as? ReactorError { answer = (response, body) }
    let route = WriteRoute(of: request, context.trail ?? RedirectTrail(), answer: answer)
    switch route.verdict(isSuccess: false) {
    case .answered: throw error
    case .notCarriedOut, .diverted: throw ReactorError.network(ReactorError.Diverted(to: route.target))
    case .carriedOut:
      guard let nothing = parser.nothing else { throw error }
      return Snapshot(model: nothing, fetchedAt: configuration.now())
    }
  }

  /// Sends a request once. The answer to a write is noted for the server's events.
  func sent(
    _ request: HTTPRequest, _ body: Data?, _ trail: RedirectTrail, isRead: Bool, _ key: RecordKey,
    _ progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    guard !isRead else { return try await backend.send(request, body: body, trail: trail, progress: progress) }
    return try await layer.sendWrite(request, of: key) { request in
      try await backend.send(request, body: body, trail: trail, progress: progress)
    }
  }

  /// Sends a form. Each attempt has the same bytes.
  func uploads(
    _ form: MultipartForm, with request: HTTPRequest, mayRetry: Bool, _ resource: Resource, _ key: RecordKey,
    _ context: Context
  ) async throws -> HTTPFlowResponse {
    let encoded = try await EncodedForm.encoding(form)
    var (request, number) = (request, 0)
    request.headerFields[.contentType] = encoded.contentType
    return try await attempts(
      request, encoded.body, isConditional: false, mayRetry: mayRetry, &number, resource, key, context)
  }
}
