public import Foundation
public import HTTPTypes

/// The steps of a caching proxy or client: plan a request, send it, and receive the response.
extension ProxyCache {
  /// The next step for a client's request.
  public indirect enum Plan: Sendable {
    /// Return this response. Nothing is sent.
    case answer(CacheResponse)
    /// Return this response, and send the request in the background to revalidate the stored one
    /// (RFC 5861 §3). ``ProxyCache/receive(_:body:for:at:)`` takes the server's response.
    case answerAndSend(CacheResponse, CacheRequest)
    /// Send this request, and pass the server's response to ``ProxyCache/receive(_:body:for:at:)``.
    /// If the request fails, ``ProxyCache/staleAnswer(for:at:always:wasSent:)`` may have a stale
    /// fallback.
    case send(CacheRequest)
  }

  /// Looks up a request and decides whether a stored response may answer it (RFC 9111 §4).
  ///
  /// ```swift
  /// switch await cache.plan(for: request, scope: .shared, at: Date()) {
  /// case .answer(let answer): return answer
  /// case .send(let exchange): return try await forward(exchange)
  /// case .answerAndSend(let answer, let exchange):
  ///   revalidate(exchange)  // in the background
  ///   return answer
  /// }
  /// ```
  ///
  /// A record that cannot be read counts as a miss. ``CacheRequest/failure`` then holds the error.
  ///
  /// - Parameters:
  ///   - request: The client's request, unchanged, with scheme, authority and path.
  ///   - body: The whole content of a QUERY (RFC 10008), which belongs to its key; other methods
  ///     ignore it. Default: `nil`, also for a content that is too large to hold. The response to a
  ///     QUERY without it, without `Content-Type`, or with more than `HTTPCache.largestQueryBody`
  ///     is not stored.
  ///   - scope: The owner of the records. Default: `Scope.shared`.
  ///   - now: The current time of the wall clock.
  public func plan(
    for request: HTTPRequest, body: Data? = nil, scope: Scope = .shared, at now: Date
  ) async -> Plan {
    let key = self.key(of: request, body, in: scope)
    guard Self.isLookedUp(request, key) else { return plan(for: request, key, Found(), at: now) }
    var found = await lookUp(key, request)
    guard let tier else {
      await found.useEquivalent(of: key, to: request, in: self, at: now)
      return plan(for: request, key, found, at: now)
    }
    // The names in a tier are of URLs, so the response to a QUERY stays in this process.
    guard
      let look = tier.look(
        for: key, request.headerFields, mayShare: key.method == .get && mayShare(key, request.headerFields))
    else {
      return plan(for: request, key, found, at: now)
    }
    return await plan(for: request, key, found, through: tier, look, at: now)
  }

  /// Returns `true` if a response may leave the process: it belongs to no user, and its URL has no
  /// secret.
  private func mayShare(_ key: RecordKey, _ request: HTTPFields) -> Bool {
    guard !SecretQuery.hasSecret(key.url, names: secretQueryItems) else { return false }
    let credentials: [HTTPField.Name] = [.authorization, .cookie, .proxyAuthorization]
    return rules.isShared || !credentials.contains { request.contains($0) }
  }

  /// A stored record, as a look-up has found it.
  struct Found: Sendable {
    /// The record that may answer the request.
    var record: Record? { didSet { stored = record?.head } }
    /// The head of the URL's own record, as it is in the store.
    private(set) var stored: Record.Head?
    var hasOtherVariant = false
    /// A Boolean value that indicates whether ``record`` is of an equivalent URL.
    private(set) var isEquivalent = false
    var failure: (any Error)?

    /// Takes the response to an equivalent URL, if it is newer.
    mutating func useEquivalent(of key: RecordKey, to request: HTTPRequest, in cache: ProxyCache, at now: Date) async {
      guard failure == nil else { return }
      let (own, rules) = (stored, cache.rules)
      let newest = await cache.records.newest(record, of: key, for: request.headerFields, at: now) {
        $0.copyStatus(at: now, by: rules)?.isFresh == true
      }
      (record, isEquivalent) = (newest.record, newest.equivalent != nil)
      stored = own
    }
  }

  /// Returns the record that is stored for a request, or the error of the persistence.
  func lookUp(_ key: RecordKey, _ request: HTTPRequest) async -> Found {
    var found = Found()
    do { (found.record, found.hasOtherVariant) = try await records.find(key, for: request.headerFields) } catch {
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
      var answer = answer(stored, to: request, at: now, source: .stored)
      if lookUp.isEquivalent { answer.cacheStatus.detail = "no-vary-search" }
      return .answer(answer)
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
      stored: record, found: lookUp.stored, sentAt: now, sendsValidators: validating != nil,
      forwardReason: forwardReason(request, key, lookUp, at: now),
      underWay: underWay.begin(key))
  }

  /// Returns the stored response as a stale fallback for a request that failed, or for a 500, 502,
  /// 503 or 504.
  ///
  /// ```swift
  /// guard let stale = cache.staleAnswer(for: exchange, at: Date()) else { throw error }
  /// ```
  ///
  /// - Parameters:
  ///   - exchange: The request that failed, from ``plan(for:body:scope:at:)``.
  ///   - now: The current time of the wall clock.
  ///   - always: Pass `true` to allow any stale response that the server does not forbid
  ///     (RFC 9111 §4.2.4). By default, the server or the client must allow it with
  ///     `stale-if-error` (RFC 5861 §4).
  ///   - wasSent: Pass `false` if the request was not sent, because the server is known to fail.
  ///     ``CacheStatus`` then describes a hit (RFC 9211 §2.1). Default: `true`.
  /// - Returns: The response, or `nil` if no response is stored or its use is not allowed.
  public func staleAnswer(
    for exchange: CacheRequest, at now: Date, always: Bool = false, wasSent: Bool = true
  ) -> CacheResponse? {
    guard let stored = exchange.stored,
      CacheDecision.allowsStale(stored.head, for: exchange.client, at: now, always: always, by: rules)
    else { return nil }
    var answer = answer(stored, to: exchange.client, at: now, source: .stale)
    if wasSent { answer.cacheStatus = CacheStatus(forwardReason: exchange.forwardReason) }
    return answer
  }
}

extension ProxyCache {
  /// Returns `request` with the stored validators in place of the client's own conditions. The
  /// client's conditions are evaluated on the response (RFC 9111 §4.3.1).
  ///
  /// - Returns: The request, or `nil` where nothing stored has a validator.
  private static func validating(_ request: HTTPRequest, _ stored: Record.Head?) -> HTTPRequest? {
    guard let stored, request.method != .head else { return nil }
    var bare = request
    for name in [.ifNoneMatch, .ifModifiedSince, .ifRange, .range] as [HTTPField.Name] {
      bare.headerFields[name] = nil
    }
    let conditional = HTTPCache.conditional(bare, on: stored)
    return conditional.headerFields == bare.headerFields ? nil : conditional
  }
}

extension ProxyCache {
  /// Returns the reason for sending `request`, of which `found` is stored.
  private func forwardReason(
    _ request: HTTPRequest, _ key: RecordKey, _ lookUp: Found, at now: Date
  ) -> CacheStatus.ForwardReason {
    guard Self.isLookedUp(request, key) else { return request.method == .query ? .bypass : .method }
    // The store may have a response to another content of the same URL.
    guard let found = lookUp.record?.head else {
      return lookUp.hasOtherVariant ? .varyMiss : key.method == .query ? .miss : .uriMiss
    }
    guard found.localModel == nil, let status = found.copyStatus(at: now, by: rules) else { return .miss }
    return status.isFresh && status.allowsStale ? .request : .stale
  }

  /// Returns whether the client accepts the coding of the stored body, and its request holds every
  /// secret that was removed from the record. Without them, the answer would name another URL than
  /// the server's response did.
  private func isServable(_ record: Record, to request: HTTPRequest) -> Bool {
    ContentCoding.isAcceptable(record.head.fields, to: request.headerFields)
      && restored(record.head.fields, for: request) != nil
  }

  /// Returns the stored response as an answer to `request`, with the request's secrets in place of
  /// their digests.
  func answer(_ record: Record, to request: HTTPRequest, at now: Date, source: CacheResponse.Source)
    -> CacheResponse
  {
    var answer = CacheResponse(record, for: request, at: now, by: rules, source: source)
    let fields = answer.response.headerFields
    answer.response.headerFields = restored(fields, for: request) ?? fields
    return answer
  }

  private func restored(_ fields: HTTPFields, for request: HTTPRequest) -> HTTPFields? {
    SecretQuery.restore(fields, from: request.absoluteURL, names: secretQueryItems, digests: records.digests)
  }

  /// Returns whether the store may have a response to a request.
  private static func isLookedUp(_ request: HTTPRequest, _ key: RecordKey) -> Bool {
    [.get, .head].contains(request.method) || key.method == .query
  }

  /// Returns the key of a request. The key of a QUERY includes its content and the fields that
  /// describe it (RFC 10008 §2.7).
  private func key(of request: HTTPRequest, _ body: Data?, in scope: Scope) -> RecordKey {
    guard request.method == .query, request.headerFields.contains(.contentType), let body,
      body.count <= HTTPCache.largestQueryBody
    else { return key(of: request.absoluteURL, in: scope) }
    return RecordKey(
      method: .query, url: request.absoluteURL, body: body,
      identityFields: request.headerFields.ofContent, scope: scope, secretQueryItems: secretQueryItems,
      digests: records.digests)
  }

  func key(of url: String, in scope: Scope) -> RecordKey {
    RecordKey(method: .get, url: url, scope: scope, secretQueryItems: secretQueryItems, digests: records.digests)
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
  mutating func removeSecrets(of response: HTTPResponse) {
    for name in [.setCookie] + SecretQuery.urlFields where response.headerFields.contains(name) {
      self.response.headerFields[fields: name] = response.headerFields[fields: name]
    }
  }
}
