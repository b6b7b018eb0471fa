import Foundation
import HTTPCaching
import HTTPTypes
import NIOCore

/// The answer of `reactor proxy` to one request. It consults `HTTPCache`, and forwards the request
/// if necessary.
struct Proxy: Sendable {
  let cache: HTTPCache
  let upstream: Upstream
  /// A Boolean value that indicates whether any stale response may replace a missing answer of the
  /// server, unless the response forbids it.
  var isStaleOnDisconnect = false
  /// The wall clock.
  var now: @Sendable () -> Date = { Date() }
  /// A closure that receives a line for each exchange.
  var trace: (@Sendable (String) -> Void)?
  private let revalidations = Revalidations()

  /// Returns the answer to a request. Cancellation ends the request to the server.
  ///
  /// - Parameters:
  ///   - request: The request, with the path that the client sent.
  ///   - interim: A closure that receives each response before the final one.
  func answer(
    _ request: ForwardedRequest, interim: @escaping @Sendable (HTTPResponse) -> Void = { _ in }
  ) async -> ProxyResponse {
    let start = ContinuousClock.now
    let target = target(of: request)
    let scope = Self.scope(of: target.headerFields)
    // The body of a GET is not part of the key and has no defined meaning (RFC 9110 §9.3.1), so
    // such a request bypasses the cache.
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

  /// Forwards a request without the cache.
  private func pass(
    _ request: ForwardedRequest, to target: HTTPRequest, interim: @escaping @Sendable (HTTPResponse) -> Void
  ) async -> ProxyResponse {
    var sent = request
    sent.head = target
    do { return ProxyResponse(try await upstream.send(sent, interim: interim)) } catch {
      return ProxyResponse(failure: error)
    }
  }

  /// Returns the request for the server behind the proxy.
  private func target(of request: ForwardedRequest) -> HTTPRequest {
    var head = request.head
    let address = upstream.address
    head.scheme = address.scheme
    head.authority = address.authority
    if let path = head.path, path.hasPrefix("/") { head.path = address.basePath + path }
    return head
  }

  /// Returns a scope for each value of `Authorization`, named by a digest; the shared scope without
  /// one.
  private static func scope(of fields: HTTPFields) -> Scope {
    CredentialScope.scope(of: HTTPFields(fields.filter { $0.name == .authorization }))
  }
}

extension HTTPRequest {
  var absoluteText: String { "\(scheme ?? "")://\(authority ?? "")\(path ?? "")" }
}
