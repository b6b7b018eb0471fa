import Foundation
import HTTPCachingProxy
import HTTPTypes
import NIOCore
import ReactorChangeFeed

/// The answer of `reactor proxy` to one request. It consults `ProxyCache`, and forwards the request
/// if necessary.
struct Proxy: Sendable {
  let cache: ProxyCache
  let upstream: Upstream
  /// A Boolean value that indicates whether any stale response may replace a missing answer of the
  /// server, unless the response forbids it.
  var isStaleOnDisconnect = false
  /// The name of the cache in `Cache-Status` (RFC 9211); `nil` leaves that field unchanged.
  var statusName: String?
  /// A Boolean value that indicates whether answers are made on the event loop of the client's
  /// connection. It is `false` for a cache that reads files, for which other clients would wait.
  var staysOnEventLoop = false
  /// The wall clock.
  var now: @Sendable () -> Date = { Date() }
  /// A closure that receives a line for each exchange, without line breaks and control characters.
  var trace: (@Sendable (String) -> Void)?
  /// The outages of the server; with `nil`, each request contacts the server.
  var outages: UpstreamOutages? = UpstreamOutages()
  /// The stream of changes; `nil` for none.
  var live: LiveChanges?
  /// The name of the proxy in `Via`, which no other proxy has.
  var viaName = ViaName.random()
  /// The memory of the bodies of requests.
  var requestBodies = BodyMemory(limit: BodyLimit.requests)
  /// The bodies on their way to clients, and the memory for them.
  var responseBodies = SharedBodies(BodyMemory(limit: BodyLimit.responses))
  private let revalidations = Revalidations()
  let collapsing = CollapsedRequests()

  /// Returns the answer to a request. Cancellation ends the request to the server.
  ///
  /// - Parameters:
  ///   - request: The request, with the path that the client sent.
  ///   - interim: A closure that receives each response before the final one.
  func answer(
    _ request: ForwardedRequest, interim: @escaping @Sendable (HTTPResponse) -> Void = { _ in }
  ) async -> ProxyResponse {
    let start = ContinuousClock.now
    if let own = Intermediary.answer(to: request.head, named: viaName) { return end(own, request, since: start) }
    let target = target(of: request)
    let scope = cache.rules.isShared ? .shared : Self.scope(of: target.headerFields)
    // The body of a GET is not part of the key and has no defined meaning (RFC 9110 §9.3.1), so
    // such a request bypasses the cache.
    if [.get, .head].contains(target.method), request.body.readableBytes > 0 {
      return end(await pass(request, to: target, interim: interim), request, since: start)
    }
    // A hit does not need it. A QUERY is equal to another one only with its content.
    func key(_ exchange: CacheRequest) -> String {
      target.method == .query ? exchange.key.identity : "\(scope.name) \(target.absoluteText)"
    }
    switch await cache.plan(for: target, body: request.queryBody, scope: scope, at: now()) {
    case .answer(let stored): return end(ProxyResponse(stored), request, since: start)
    case .answerAndSend(let stored, let exchange):
      sendBehind(exchange, request, key(exchange))
      return end(ProxyResponse(stored), request, since: start)
    case .send(let exchange):
      if let stored = standIn(exchange, request, key(exchange)) {
        return end(ProxyResponse(stored), request, since: start)
      }
      let answer =
        exchange.acceptsCollapsing
        ? await collapse(exchange, request, target, scope, key(exchange), interim: interim)
        : await send(exchange, request, interim: interim)
      return end(answer, request, since: start)
    }
  }

  /// Returns the answer to a request for the stream of changes; `nil` for another request.
  ///
  /// - Parameter onStall: Closes the connection of a client that does not read.
  func changes(_ request: ForwardedRequest, onStall: @escaping @Sendable () -> Void) -> ProxyResponse? {
    guard var answer = live?.answer(to: request.head, onStall: onStall) else { return nil }
    answer.response.headerFields.addDate(now())
    return end(answer, request, since: .now)
  }

  /// Returns the stale response to serve during an outage, and probes the server in the background
  /// if that is due; `nil` without an outage or a permitted stale response.
  private func standIn(_ exchange: CacheRequest, _ request: ForwardedRequest, _ key: String) -> CacheResponse? {
    guard exchange.acceptsCollapsing, let outage = outages?.outage(for: exchange),
      let stored = cache.staleAnswer(
        for: exchange, at: now(), always: isStaleOnDisconnect && outage.isDisconnection, wasSent: false)
    else { return nil }
    if outage.isProbeDue { sendBehind(exchange, request, key) }
    return stored
  }

  /// Sends a request whose client has an answer already, unless the server is known to fail.
  private func sendBehind(_ exchange: CacheRequest, _ request: ForwardedRequest, _ key: String) {
    revalidations.start(key) { [self] in
      if let outages, case .notNow = outages.permission(for: exchange, isBehind: true) { return }
      let start = ContinuousClock.now
      let answer = await sendAdmitted(exchange, request, interim: { _ in })
      tell(request, answer, since: start, " behind")
    }
  }

  /// Returns the answer to a request, after that to an equal one if one is under way (RFC 9111 §4,
  /// *collapsed requests*).
  private func collapse(
    _ exchange: CacheRequest, _ request: ForwardedRequest, _ target: HTTPRequest, _ scope: Scope, _ key: String,
    interim: @escaping @Sendable (HTTPResponse) -> Void
  ) async -> ProxyResponse {
    // A request that was under way may be abandoned, with its client. Then another one is sent.
    while !Task.isCancelled {
      switch await collapsing.join(key, mayLead: exchange.leadsCollapsing, isOvertaken: { exchange.isOvertaken }) {
      case .lead(let flight):
        let answer = await send(exchange, request, interim: interim)
        collapsing.end(flight, key, Task.isCancelled ? .abandoned : .init(answer))
        return answer
      case .alone: return await send(exchange, request, interim: interim)
      case .ended(.abandoned): continue
      case .ended(.failed(let error)): return failed(exchange, error, isCollapsed: true)
      case .ended(.answered):
        let reason = exchange.forwardReason
        switch await cache.plan(for: target, body: request.queryBody, scope: scope, at: now()) {
        case .answer(let stored), .answerAndSend(let stored, _):
          var answer = ProxyResponse(stored)
          answer.cacheStatus = CacheStatus(forwardReason: reason)
          answer.cacheStatus.isCollapsed = true
          return answer
        // The answer does not serve this request, which does not wait again.
        case .send(let own):
          if own.forwardReason != .varyMiss { collapsing.pass(key) }
          return await send(own, request, interim: interim)
        }
      }
    }
    return await send(exchange, request, interim: interim)
  }

  /// Returns the answer with its `Via` and `Cache-Status`, and prints its line. Without memory for
  /// the body, the answer is a 503.
  private func end(
    _ answer: ProxyResponse, _ request: ForwardedRequest, since start: ContinuousClock.Instant
  ) -> ProxyResponse {
    var answer = answer
    if !answer.body.isEmpty {
      answer.whole = responseBodies.body(answer.body, held: answer.held)
      if answer.whole == nil {
        answer = ProxyResponse(
          own: .serviceUnavailable, [.retryAfter: "1"], detail: BodyStream.Reason.noMemory.rawValue)
      }
    }
    tell(request, answer, since: start)
    answer.response.headerFields.addVia(version: answer.version, name: viaName)
    if let statusName { answer.cacheStatus.append(to: &answer.response.headerFields, name: statusName) }
    return answer
  }

  private func tell(
    _ request: ForwardedRequest, _ answer: ProxyResponse, since start: ContinuousClock.Instant, _ end: String = ""
  ) {
    guard trace != nil else { return }
    say(ProxyTrace.line(request.head, answer, in: ContinuousClock.now - start) + end)
  }

  private func say(_ line: String) { trace?(TraceLine.oneLine(line)) }

  private func send(
    _ exchange: CacheRequest, _ request: ForwardedRequest, interim: @escaping @Sendable (HTTPResponse) -> Void
  ) async -> ProxyResponse {
    if let outages, case .refused(let error) = outages.permission(for: exchange, isBehind: false) {
      return failed(exchange, error, wasSent: false)
    }
    return await sendAdmitted(exchange, request, interim: interim)
  }

  private func sendAdmitted(
    _ exchange: CacheRequest, _ request: ForwardedRequest, interim: @escaping @Sendable (HTTPResponse) -> Void
  ) async -> ProxyResponse {
    var sent = request
    sent.head = exchange.request
    do {
      let response = try await received(sent, interim: interim)
      let body = response.stream == nil ? response.body.data : nil
      let received = await cache.receive(response.head, body: body, for: exchange, at: now())
      if let retry = received.retry { return await sendAdmitted(retry, request, interim: interim) }
      live?.publish(cache.changes(by: response.head, to: exchange), by: request.head.changeID)
      if let line = outages?.answered(exchange, response.head.status, isReplaced: received.source == .stale) {
        say(line)
      }
      var answer = ProxyResponse(received)
      // A stale response in its place has its own body.
      if received.source == .network { answer.receive(response) }
      return answer
    } catch {
      if let line = outages?.failed(exchange, error) { say(line) }
      return failed(exchange, error)
    }
  }

  /// Returns the stale response, or a 502, for a request that got no answer.
  private func failed(
    _ exchange: CacheRequest, _ error: any Error, isCollapsed: Bool = false, wasSent: Bool = true
  ) -> ProxyResponse {
    if var stale = cache.staleAnswer(for: exchange, at: now(), always: isStaleOnDisconnect, wasSent: wasSent) {
      stale.cacheStatus.isCollapsed = isCollapsed
      return ProxyResponse(stale)
    }
    var answer = ProxyResponse(failure: error)
    answer.cacheStatus = CacheStatus(forwardReason: exchange.forwardReason)
    answer.cacheStatus.isCollapsed = isCollapsed
    return answer
  }

  /// Forwards a request without the cache.
  private func pass(
    _ request: ForwardedRequest, to target: HTTPRequest, interim: @escaping @Sendable (HTTPResponse) -> Void
  ) async -> ProxyResponse {
    var sent = request
    sent.head = target
    do { return ProxyResponse(try await received(sent, interim: interim)) } catch {
      return ProxyResponse(failure: error)
    }
  }

  /// Returns the server's response, with the time of its arrival if it has no `Date`.
  private func received(
    _ request: ForwardedRequest, interim: @escaping @Sendable (HTTPResponse) -> Void
  ) async throws -> ForwardedResponse {
    var request = request
    Intermediary.prepare(&request.head, received: request.version, named: viaName)
    var response = try await upstream.send(request, memory: responseBodies.memory, interim: interim)
    response.head.headerFields.addDate(now())
    return response
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
    guard fields.contains(.authorization) else { return .shared }
    return CredentialScope.scope(of: HTTPFields(fields.filter { $0.name == .authorization }))
  }
}

extension HTTPRequest {
  var absoluteText: String { "\(scheme ?? "")://\(authority ?? "")\(path ?? "")" }
}
