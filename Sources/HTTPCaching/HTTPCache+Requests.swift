public import Foundation
public import HTTPTypes

/// The steps of a caching proxy or client: plan a request, send it, and receive the response.
extension HTTPCache {
  /// The next step for a client's request.
  public indirect enum Plan: Sendable {
    /// Return this response. Nothing is sent.
    case answer(CacheResponse)
    /// Return this response, and send the request in the background to revalidate the stored one
    /// (RFC 5861 §3). ``HTTPCache/receive(_:body:for:at:)`` takes the server's response.
    case answerAndSend(CacheResponse, CacheRequest)
    /// Send this request, and pass the server's response to ``HTTPCache/receive(_:body:for:at:)``.
    /// If the request fails, ``HTTPCache/staleAnswer(for:at:always:)`` may have a stale fallback.
    case send(CacheRequest)
  }

  /// Looks up a request and decides whether a stored response may answer it (RFC 9111 §4).
  ///
  /// A record that cannot be read counts as a miss. ``CacheRequest/failure`` then holds the error.
  ///
  /// - Parameters:
  ///   - request: The client's request, unchanged, with scheme, authority and path.
  ///   - scope: The owner of the records. Default: ``Scope/shared``.
  ///   - now: The present time of the wall clock.
  public func plan(for request: HTTPRequest, scope: Scope = .shared, at now: Date) async -> Plan {
    let key = self.key(of: request.absoluteURL, in: scope)
    let found = Invalidation.isSafe(request.method) ? await lookUp(key, request) : Found()
    guard let tier, [.get, .head].contains(request.method),
      let look = tier.look(for: key, request.headerFields, mayShare: mayShare(key, request.headerFields))
    else {
      return plan(for: request, key, found, at: now)
    }
    return await plan(for: request, key, found, through: tier, look, at: now)
  }

  /// Returns `true` if a response may leave the process: it is no user's, and its URL has no
  /// secret.
  private func mayShare(_ key: RecordKey, _ request: HTTPFields) -> Bool {
    guard !SecretQuery.hasSecret(key.url, names: secretQueryItems) else { return false }
    let credentials: [HTTPField.Name] = [.authorization, .cookie, .proxyAuthorization]
    return rules.isShared || !credentials.contains { request.contains($0) }
  }

  /// A stored record, as a look-up has found it.
  struct Found: Sendable {
    var record: Record?
    var hasOtherVariant = false
    var failure: (any Error)?
  }

  /// Returns the record that is stored for a request, or the error of the persistence.
  func lookUp(_ key: RecordKey, _ request: HTTPRequest) async -> Found {
    var found = Found()
    do { (found.record, found.hasOtherVariant) = try await find(key, for: request.headerFields) } catch {
      found.failure = error
    }
    return found
  }

  /// Decides whether a record may answer a request.
  func plan(for request: HTTPRequest, _ key: RecordKey, _ lookUp: Found, at now: Date) -> Plan {
    var stored = lookUp.record
    if let record = stored, record.head.localModel != nil || !isServable(record, to: request) { stored = nil }
    let decision = CacheDecision(request, stored: stored?.head, at: now, by: rules)
    func exchange(validates: Bool) -> CacheRequest {
      self.exchange(request, key, lookUp, validates: validates && stored != nil, at: now)
    }
    switch (decision, stored) {
    case (.use, let stored?):
      return .answer(answer(stored, to: request, at: now, source: .stored))
    case (.useAndRevalidate, let stored?):
      return .answerAndSend(
        answer(stored, to: request, at: now, source: .stored), exchange(validates: true))
    case (.gatewayTimeout, _):
      return .answer(
        CacheResponse(
          response: HTTPResponse(status: .gatewayTimeout), body: Data(), source: .none,
          cacheStatus: CacheStatus(detail: "only-if-cached")))
    case (.ask(let validates), _): return .send(exchange(validates: validates))
    case (.use, nil), (.useAndRevalidate, nil): return .send(exchange(validates: false))
    }
  }

  /// Returns the request to send for a client.
  ///
  /// - Parameter validates: `true` if the stored response is validated.
  func exchange(
    _ request: HTTPRequest, _ key: RecordKey, _ lookUp: Found, validates: Bool, at now: Date
  ) -> CacheRequest {
    let record = validates ? lookUp.record : nil
    let validating = Self.validating(request, record?.head)
    return CacheRequest(
      request: validating ?? request, failure: lookUp.failure, client: request, key: key,
      stored: record, found: lookUp.record?.head, sentAt: now, sendsValidators: validating != nil,
      forwardReason: forwardReason(request, lookUp.record?.head, lookUp.hasOtherVariant, at: now))
  }

  /// Stores, updates or invalidates records by the server's response, and returns the client's
  /// response.
  ///
  /// A 500, 502, 503 or 504 is replaced by the stored response where `stale-if-error` allows that
  /// (RFC 5861 §4). An unsafe request that succeeded makes its URLs stale in every scope
  /// (RFC 9111 §4.4). The method never throws: ``CacheResponse/failure`` holds an error of the
  /// persistence.
  ///
  /// - Parameters:
  ///   - response: The server's response, unchanged.
  ///   - body: The whole body of the response; `nil` for one that is too large to hold, and that
  ///     you pass on as it arrives. It is not stored, and all else is done. The answer has
  ///     `response` itself, unless it is a stale one in its place.
  ///   - exchange: The request that was sent, from ``plan(for:scope:at:)``.
  ///   - now: The present time of the wall clock, when the response is complete.
  public func receive(
    _ response: HTTPResponse, body: Data?, for exchange: CacheRequest, at now: Date
  ) async -> CacheResponse {
    if response.status.kind == .serverError { exchange.ticket?.fail() }
    if [500, 502, 503, 504].contains(response.status.code), var answer = staleAnswer(for: exchange, at: now) {
      answer.cacheStatus.forwardStatus = response.status.code
      return answer
    }
    var answer = await judge(response, body: body, for: exchange, at: now)
    answer.cacheStatus = CacheStatus(forwardReason: exchange.forwardReason)
    answer.cacheStatus.forwardStatus = response.status.code
    answer.cacheStatus.isStored = answer.isStored
    return answer
  }

  private func judge(
    _ response: HTTPResponse, body: Data?, for exchange: CacheRequest, at now: Date
  ) async -> CacheResponse {
    var answer = CacheResponse(response: response, body: body ?? Data(), source: .network)
    var storable = response
    storable.headerFields = SecretQuery.redact(response.headerFields, names: secretQueryItems, digests: digests)
    do {
      let judged = Self.judge(
        storable, body: body ?? Data(), to: exchange.client.headerFields, for: exchange.key,
        stored: exchange.sendsValidators ? exchange.stored?.head : nil,
        requestedAt: exchange.sentAt, receivedAt: now, keepsCookies: keepsCookies)
      switch (judged, exchange.stored) {
      case (.notModified(let head), let stored?):
        let record = Record(head: head, body: stored.body)
        answer = self.answer(record, to: exchange.client, at: now, source: .validated)
        answer.removeSecrets(of: response)
        answer.isStored = try await store(record, of: exchange)
        let isStorable = record.head.isStorable(for: exchange.client.headerFields, by: rules)
        share(record, of: exchange, isStorable: isStorable, isStored: answer.isStored, isConfirmation: true)
      case (.received(let record), _):
        try await apply(record, hasBody: body != nil, exchange, response, &answer, now)
      case (.notModified, nil): break
      }
    } catch {
      answer.failure = error
    }
    return answer
  }

  /// Returns the stored response as a stale fallback for a request that failed, or for a 500, 502,
  /// 503 or 504.
  ///
  /// - Parameters:
  ///   - exchange: The request that failed, from ``plan(for:scope:at:)``.
  ///   - now: The present time of the wall clock.
  ///   - always: Pass `true` to allow any stale response that the server does not forbid
  ///     (RFC 9111 §4.2.4). By default, the server must allow it with `stale-if-error`
  ///     (RFC 5861 §4).
  /// - Returns: The response, or `nil` where none is stored or its use is not allowed.
  public func staleAnswer(for exchange: CacheRequest, at now: Date, always: Bool = false) -> CacheResponse? {
    guard let stored = exchange.stored,
      CacheDecision.allowsStale(stored.head, for: exchange.client, at: now, always: always, by: rules)
    else { return nil }
    return answer(stored, to: exchange.client, at: now, source: .stale)
  }
}

extension HTTPCache {
  /// Returns `request` with the stored validators in place of the client's own conditions. The
  /// client's conditions are evaluated on the response (RFC 9111 §4.3.1).
  ///
  /// - Returns: The request, or `nil` where nothing stored has a validator.
  private static func validating(_ request: HTTPRequest, _ stored: Record.Head?) -> HTTPRequest? {
    guard let stored, request.method == .get else { return nil }
    var bare = request
    for name in [.ifNoneMatch, .ifModifiedSince, .ifRange, .range] as [HTTPField.Name] {
      bare.headerFields[name] = nil
    }
    let conditional = conditional(bare, on: stored)
    return conditional.headerFields == bare.headerFields ? nil : conditional
  }

  private func apply(
    _ record: Record, hasBody: Bool, _ exchange: CacheRequest, _ response: HTTPResponse,
    _ answer: inout CacheResponse, _ now: Date
  ) async throws {
    switch exchange.client.method {
    case .get: try await receiveGet(record, hasBody: hasBody, exchange, response, &answer, now)
    case .head: try await receiveHead(record.head, exchange, now)
    default: try await receiveUnsafe(record, hasBody: hasBody, exchange, response, &answer, now)
    }
  }

  private func receiveGet(
    _ record: Record, hasBody: Bool, _ exchange: CacheRequest, _ response: HTTPResponse,
    _ answer: inout CacheResponse, _ now: Date
  ) async throws {
    // The client's own condition or range was sent on. A 304 or 206 to it answers this client
    // alone.
    guard record.head.status != .notModified, record.head.status != .partialContent else { return }
    // A success replaces the older stored response, and so does the answer that nothing is there.
    // Another error that may not be stored does not affect it.
    let isStorable = hasBody && isStorable(record.head, exchange, response)
    let isGone = record.head.status == .notFound || record.head.status == .gone
    if isStorable || isGone || record.head.status.kind == .successful {
      answer.isStored = try await store(record, of: exchange, isStorable: isStorable)
    }
    share(record, of: exchange, isStorable: isStorable, isStored: answer.isStored)
    // The stored validators did not match. The client's own conditions are still to be evaluated.
    guard hasBody, exchange.sendsValidators, record.head.status == .ok else { return }
    var own = self.answer(record, to: exchange.client, at: now, source: .network)
    own.isStored = answer.isStored
    own.removeSecrets(of: answer.response)
    if own.response.status == .ok { return }
    own.response.headerFields[.age] = record.head.fields[.age]
    answer = own
  }

  /// Updates the stored response if a response to HEAD confirms it, and invalidates it if not
  /// (RFC 9111 §4.3.5).
  private func receiveHead(_ head: Record.Head, _ exchange: CacheRequest, _ now: Date) async throws {
    guard head.status == .ok, let stored = exchange.stored, stored.head.status == .ok else { return }
    let length = head.fields[.contentLength]
    guard StoredFields.confirm(head.fields, stored.head), length == nil || length == "\(stored.body.count)" else {
      return try await invalidate(exchange.key, at: now)
    }
    let updated = stored.head.updated(
      by: head.fields, exchange.client.headerFields, head.requestedAt, head.receivedAt)
    _ = try await store(Record(head: updated, body: stored.body), of: exchange)
  }

  private func receiveUnsafe(
    _ record: Record, hasBody: Bool, _ exchange: CacheRequest, _ response: HTTPResponse,
    _ answer: inout CacheResponse, _ now: Date
  ) async throws {
    let method = exchange.client.method
    guard Invalidation.isCaused(by: method, response) else { return }
    let named = Invalidation.relatedURLs(in: response, to: method, exchange.key.url)
    var failure: (any Error)?
    await tier?.fence(
      Set(named.map { self.key(of: $0, in: exchange.key.scope).url }).union([exchange.key.url]),
      in: exchange.key.scope, removes: false)
    for url in [exchange.key.url] + named {
      // The target's key is redacted already. Redacting it twice would give another key.
      let key = url == exchange.key.url ? exchange.key : self.key(of: url, in: exchange.key.scope)
      var keys = Set([key])
      // A change by one user affects every scope. After a record that cannot be read, the loop goes
      // on.
      do { keys.formUnion(try await self.keys(of: key.url, in: nil)) } catch { failure = error }
      for key in keys {
        do { try await markStale(key, at: now) } catch { failure = error }
      }
    }
    let groups = CacheGroups.invalidated(by: response, to: method)
    if !groups.isEmpty, let origin = URL(string: exchange.key.url) {
      do {
        for key in try await self.keys(ofGroups: groups, in: nil, origin: origin) { try await invalidate(key, at: now) }
      } catch { failure = error }
    }
    if let failure { throw failure }
    guard hasBody, isOfTheTarget(record.head, exchange, response) else { return }
    try await save(record, for: exchange.key)
    answer.isStored = isPersistent
  }

  /// Returns whether the response to a POST also answers a later GET. The response must name the
  /// target and say how long it is fresh (RFC 9110 §9.3.3).
  private func isOfTheTarget(_ head: Record.Head, _ exchange: CacheRequest, _ response: HTTPResponse) -> Bool {
    guard exchange.client.method == .post, head.status == .ok, let location = head.fields[.contentLocation],
      let url = URL(string: exchange.key.url), let origin = WebOrigin(url),
      Invalidation.url(location, from: url, of: origin) == Invalidation.url(exchange.key.url, from: url, of: origin)
    else { return false }
    let control = CacheControl(head.fields, by: rules)
    let isExplicit = control.maxAge != nil || (head.fields.contains(.expires) && !control.isTargeted)
    return isExplicit && isStorable(head, exchange, response)
  }

  private func isStorable(_ head: Record.Head, _ exchange: CacheRequest, _ response: HTTPResponse) -> Bool {
    head.isStorable(
      for: exchange.client.headerFields, setsCookies: response.headerFields.contains(.setCookie), by: rules)
  }
}

extension HTTPCache {
  /// Saves the server's response to an exchange, or removes the stored one if the response may not
  /// be stored.
  ///
  /// Nothing changes if, since the exchange began, another response was stored, or the stored one
  /// was invalidated or removed.
  ///
  /// - Parameter isStorable: A Boolean value that indicates whether the response may be stored;
  ///   `nil`, the default, decides by the record alone.
  /// - Returns: `true` if the response was stored.
  private func store(_ record: Record, of exchange: CacheRequest, isStorable: Bool? = nil) async throws -> Bool {
    let fields = exchange.client.headerFields
    let current = try? await lookUp(exchange.key, for: fields)
    guard exchange.isUndisturbed(by: current?.head, until: record.head.receivedAt) else { return false }
    guard isStorable ?? record.head.isStorable(for: fields, by: rules) else {
      try await forget(exchange.key)
      return false
    }
    try await save(record, for: exchange.key)
    return isPersistent
  }
}

extension HTTPCache {
  /// Returns the reason for sending `request`, of which `found` is stored.
  private func forwardReason(
    _ request: HTTPRequest, _ found: Record.Head?, _ hasOtherVariant: Bool, at now: Date
  ) -> CacheStatus.ForwardReason {
    guard request.method == .get || request.method == .head else { return .method }
    guard let found else { return hasOtherVariant ? .varyMiss : .uriMiss }
    guard found.localModel == nil, let status = found.copyStatus(at: now, by: rules) else { return .miss }
    return status.isFresh && status.allowsStale ? .request : .stale
  }

  /// Returns whether the client's request holds every secret that was removed from the record.
  /// Without them, the answer would name another URL than the server's response did.
  private func isServable(_ record: Record, to request: HTTPRequest) -> Bool {
    restored(record.head.fields, for: request) != nil
  }

  /// Returns the stored response as an answer to `request`, with the request's secrets in place of
  /// their digests.
  private func answer(_ record: Record, to request: HTTPRequest, at now: Date, source: CacheResponse.Source)
    -> CacheResponse
  {
    var answer = CacheResponse(record, for: request, at: now, by: rules, source: source)
    let fields = answer.response.headerFields
    answer.response.headerFields = restored(fields, for: request) ?? fields
    return answer
  }

  private func restored(_ fields: HTTPFields, for request: HTTPRequest) -> HTTPFields? {
    SecretQuery.restore(fields, from: request.absoluteURL, names: secretQueryItems, digests: digests)
  }

  private func key(of url: String, in scope: Scope) -> RecordKey {
    RecordKey(method: .get, url: url, scope: scope, secretQueryItems: secretQueryItems, digests: digests)
  }
}

extension CacheResponse {
  fileprivate init(_ record: Record, for request: HTTPRequest, at now: Date, by rules: CacheRules, source: Source) {
    let status = record.head.copyStatus(at: now, by: rules)
    let age = status?.age ?? 0
    (response, body) = StoredResponse.make(record, for: request, age: age)
    self.source = source
    let rest = ((status?.lifetime ?? 0) - age).rounded(.down)
    let greatest = Double(DeltaSeconds.greatest)
    cacheStatus = CacheStatus(timeToLive: Int(rest.isNaN ? -greatest : max(-greatest, min(greatest, rest))))
  }

  /// Copies cookies and URLs from the server's response. Its client may see them, stored or not.
  fileprivate mutating func removeSecrets(of response: HTTPResponse) {
    for name in [.setCookie] + SecretQuery.urlFields where response.headerFields.contains(name) {
      self.response.headerFields[fields: name] = response.headerFields[fields: name]
    }
  }
}
