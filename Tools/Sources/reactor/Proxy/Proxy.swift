import Foundation
import HTTPCaching
import HTTPTypes
import NIOCore

/// What `reactor proxy` does with one request: it asks ``ReactorCore/HTTPCache``, and the server where that says so.
struct Proxy: Sendable {
  let cache: HTTPCache
  let upstream: Upstream
  /// Whether any stale answer that is not forbidden stands in for a server that gives none.
  var isStaleOnDisconnect = false
  /// The wall clock.
  var now: @Sendable () -> Date = { Date() }
  /// Gets a line per exchange.
  var trace: (@Sendable (String) -> Void)?
  private let revalidations = Revalidations()

  /// Cancelling ends the request to the server.
  ///
  /// - Parameters:
  ///   - request: with the path that the client sent.
  ///   - interim: called with each response before the final one.
  func answer(
    _ request: ForwardedRequest, interim: @escaping @Sendable (HTTPResponse) -> Void = { _ in }
  ) async -> ProxyResponse {
    let start = ContinuousClock.now
    let target = target(of: request)
    let scope = Self.scope(of: target.headerFields)
    // Its body is no part of a key, and nothing says what it means (RFC 9110 §9.3.1): such a request is the server's alone.
    if [.get, .head].contains(target.method), request.body.readableBytes > 0 {
      let answer = await pass(request, to: target, interim: interim)
      tell(request, answer, since: start)
      return answer
    }
    let answer: ProxyResponse
    switch await cache.plan(for: target, scope: scope, at: now()) {
    case .answer(let stored): answer = ProxyResponse(stored)
    case .answerAndSend(let stored, let exchange):
      answer = ProxyResponse(stored)
      revalidations.start("\(scope.name) \(target.absoluteText)") { [self] in
        let start = ContinuousClock.now
        let answer = await send(exchange, request, interim: { _ in })
        tell(request, answer, since: start, " behind")
      }
    case .send(let exchange): answer = await send(exchange, request, interim: interim)
    }
    tell(request, answer, since: start)
    return answer
  }

  private func tell(
    _ request: ForwardedRequest, _ answer: ProxyResponse, since start: ContinuousClock.Instant, _ end: String = ""
  ) {
    trace?(ProxyTrace.line(request.head, answer, in: ContinuousClock.now - start) + end)
  }

  private func send(
    _ exchange: CacheRequest, _ request: ForwardedRequest, interim: @escaping @Sendable (HTTPResponse) -> Void
  ) async -> ProxyResponse {
    var sent = request
    sent.head = exchange.request
    do {
      let response = try await upstream.send(sent, interim: interim)
      return ProxyResponse(await cache.receive(response.head, body: response.body.data, for: exchange, at: now()))
    } catch {
      return cache.staleAnswer(for: exchange, at: now(), always: isStaleOnDisconnect).map(ProxyResponse.init)
        ?? ProxyResponse(failure: error)
    }
  }

  /// Sends a request past the cache.
  private func pass(
    _ request: ForwardedRequest, to target: HTTPRequest, interim: @escaping @Sendable (HTTPResponse) -> Void
  ) async -> ProxyResponse {
    var sent = request
    sent.head = target
    do { return ProxyResponse(try await upstream.send(sent, interim: interim)) } catch {
      return ProxyResponse(failure: error)
    }
  }

  /// The request as it is to be sent to the server behind.
  private func target(of request: ForwardedRequest) -> HTTPRequest {
    var head = request.head
    let address = upstream.address
    head.scheme = address.scheme
    head.authority = address.authority
    if let path = head.path, path.hasPrefix("/") { head.path = address.basePath + path }
    return head
  }

  /// Whoever signs requests has a scope of its own, which is named by a digest.
  private static func scope(of fields: HTTPFields) -> Scope {
    CredentialScope.scope(of: HTTPFields(fields.filter { $0.name == .authorization }))
  }
}

extension HTTPRequest {
  var absoluteText: String { "\(scheme ?? "")://\(authority ?? "")\(path ?? "")" }
}
