public import Foundation
public import HTTPTypes

/// The cache as a proxy uses it: a client's request, and what there is to send for it.
extension HTTPCache {
  /// The next step for a client's request.
  public enum Plan: Sendable {
    case answer(CacheResponse)
    /// The answer, and a request to be sent behind it, for what is stored (RFC 5861 §3).
    case answerAndSend(CacheResponse, CacheRequest)
    case send(CacheRequest)
  }

  /// Looks up what is stored for a request, and decides (RFC 9111 §4). It never throws: what cannot be read is not there.
  ///
  /// - Parameters:
  ///   - request: an absolute request, as the client sent it.
  ///   - scope: whose records they are.
  ///   - now: the time of the wall clock.
  public func plan(for request: HTTPRequest, scope: Scope = .shared, at now: Date) async -> Plan {
    let url = request.absoluteURL
    let key = self.key(of: url, in: scope)
    var (stored, failure): (Record?, (any Error)?) = (nil, nil)
    if Invalidation.isSafe(request.method) {
      do { stored = try await lookUp(key, for: request.headerFields) } catch { failure = error }
    }
    let found = stored?.head
    if let record = stored, record.head.localModel != nil || !isServable(record, to: request) { stored = nil }
    let decision = CacheDecision(request, stored: stored?.head, at: now)
    func exchange(validates: Bool) -> CacheRequest {
      let record = validates ? stored : nil
      let validating = Self.validating(request, record?.head)
      return CacheRequest(
        request: validating ?? request, failure: failure, client: request, key: key,
        stored: record, found: found, sentAt: now, sendsValidators: validating != nil)
    }
    switch (decision, stored) {
    case (.use, let stored?):
      return .answer(answer(stored, to: request, at: now, source: .stored))
    case (.useAndRevalidate, let stored?):
      return .answerAndSend(
        answer(stored, to: request, at: now, source: .stored), exchange(validates: true))
    case (.gatewayTimeout, _):
      return .answer(CacheResponse(response: HTTPResponse(status: .gatewayTimeout), body: Data(), source: .none))
    case (.ask(let validates), _): return .send(exchange(validates: validates))
    case (.use, nil), (.useAndRevalidate, nil): return .send(exchange(validates: false))
    }
  }

  /// Stores, updates or invalidates by the server's answer, and gives what the client gets.
  public func receive(
    _ response: HTTPResponse, body: Data, for exchange: CacheRequest, at now: Date
  ) async -> CacheResponse {
    if [500, 502, 503, 504].contains(response.status.code), let answer = staleAnswer(for: exchange, at: now) {
      return answer
    }
    var answer = CacheResponse(response: response, body: body, source: .network)
    var storable = response
    storable.headerFields = SecretQuery.redact(response.headerFields, names: secretQueryItems, digests: digests)
    do {
      let judged = Self.judge(
        storable, body: body, to: exchange.client.headerFields, for: exchange.key,
        stored: exchange.sendsValidators ? exchange.stored?.head : nil,
        requestedAt: exchange.sentAt, receivedAt: now, keepsCookies: keepsCookies)
      switch (judged, exchange.stored) {
      case (.notModified(let head), let stored?):
        let record = Record(head: head, body: stored.body)
        answer = self.answer(record, to: exchange.client, at: now, source: .validated)
        answer.removeSecrets(of: response)
        answer.isStored = try await store(record, of: exchange)
      case (.received(let record), _): try await apply(record, exchange, response, &answer, now)
      case (.notModified, nil): break
      }
    } catch {
      answer.failure = error
    }
    return answer
  }

  /// The stored answer to a request that got none; `nil` where it may not be used.
  ///
  /// - Parameter always: whether any stale answer will do that the server does not forbid, and not only one that it
  ///   allows (RFC 9111 §4.2.4, RFC 5861 §4).
  public func staleAnswer(for exchange: CacheRequest, at now: Date, always: Bool = false) -> CacheResponse? {
    guard let stored = exchange.stored,
      CacheDecision.allowsStale(stored.head, for: exchange.client, at: now, always: always)
    else { return nil }
    return answer(stored, to: exchange.client, at: now, source: .stale)
  }
}

extension HTTPCache {
  /// With the stored validators in place of the client's own conditions, which are evaluated on the answer (RFC 9111 §4.3.1);
  /// `nil` where there are none.
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
    _ record: Record, _ exchange: CacheRequest, _ response: HTTPResponse, _ answer: inout CacheResponse, _ now: Date
  ) async throws {
    switch exchange.client.method {
    case .get: try await receiveGet(record, exchange, &answer, now)
    case .head: try await receiveHead(record.head, exchange, now)
    default: try await receiveUnsafe(record, exchange, response, &answer, now)
    }
  }

  private func receiveGet(
    _ record: Record, _ exchange: CacheRequest, _ answer: inout CacheResponse, _ now: Date
  ) async throws {
    // The client's own condition or range was sent on: a 304 or 206 is for it alone.
    guard record.head.status != .notModified, record.head.status != .partialContent else { return }
    // What is stored is older than a success; an error that may not be stored says nothing of it.
    let isStorable = record.head.isStorable(for: RequestCacheControl(exchange.client.headerFields))
    if isStorable || record.head.status.kind == .successful {
      answer.isStored = try await store(record, of: exchange)
    }
    // What came whole in answer to the stored validators is still to be held against the client's own conditions.
    guard exchange.sendsValidators, record.head.status == .ok else { return }
    var own = self.answer(record, to: exchange.client, at: now, source: .network)
    own.isStored = answer.isStored
    own.removeSecrets(of: answer.response)
    if own.response.status == .ok { return }
    own.response.headerFields[.age] = record.head.fields[.age]
    answer = own
  }

  /// An answer to HEAD confirms what is stored, or says that it is another now (RFC 9111 §4.3.5).
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
    _ record: Record, _ exchange: CacheRequest, _ response: HTTPResponse, _ answer: inout CacheResponse, _ now: Date
  ) async throws {
    let method = exchange.client.method
    guard Invalidation.isCaused(by: method, response) else { return }
    let named = Invalidation.relatedURLs(in: response, to: method, exchange.key.url)
    var failure: (any Error)?
    for url in [exchange.key.url] + named {
      // The target's key is redacted already: redacted twice, it would be another's.
      let key = url == exchange.key.url ? exchange.key : self.key(of: url, in: exchange.key.scope)
      var keys = Set([key])
      // What one user changed is another for all. A record that cannot be read keeps none of the others fresh.
      do { keys.formUnion(try await self.keys(of: key.url, in: nil)) } catch { failure = error }
      for key in keys {
        do { try await invalidate(key, at: now) } catch { failure = error }
      }
    }
    if let failure { throw failure }
    guard isOfTheTarget(record.head, exchange) else { return }
    try await save(record, for: exchange.key)
    answer.isStored = isPersistent
  }

  /// Returns whether the answer to a POST is that of a later GET: it says so, and for how long (RFC
  /// 9110 §9.3.3).
  private func isOfTheTarget(_ head: Record.Head, _ exchange: CacheRequest) -> Bool {
    guard exchange.client.method == .post, head.status == .ok, let location = head.fields[.contentLocation],
      let url = URL(string: exchange.key.url), let origin = WebOrigin(url),
      Invalidation.url(location, from: url, of: origin) == Invalidation.url(exchange.key.url, from: url, of: origin)
    else { return false }
    let isExplicit = CacheControl(head.fields).maxAge != nil || head.fields.contains(.expires)
    return isExplicit && head.isStorable(for: RequestCacheControl(exchange.client.headerFields))
  }
}

extension HTTPCache {
  /// Saves the server's answer to an exchange, unless another was stored, or the stored one was declared
  /// stale or removed, since the exchange began. An answer that may not be stored removes the stored one.
  ///
  /// - Returns: whether it is stored.
  private func store(_ record: Record, of exchange: CacheRequest) async throws -> Bool {
    let fields = exchange.client.headerFields
    let current = try? await lookUp(exchange.key, for: fields)
    guard exchange.isUndisturbed(by: current?.head, until: record.head.receivedAt) else { return false }
    guard record.head.isStorable(for: RequestCacheControl(fields)) else {
      try await forget(exchange.key)
      return false
    }
    try await save(record, for: exchange.key)
    return isPersistent
  }
}

extension HTTPCache {
  /// A Boolean value that indicates whether every secret that was left out of the record stands in the client's own request:
  /// otherwise its answer would name another URL than the server's did.
  private func isServable(_ record: Record, to request: HTTPRequest) -> Bool {
    restored(record.head.fields, for: request) != nil
  }

  /// The stored answer, with the secrets that the client's own request holds where the server's answer had them.
  private func answer(_ record: Record, to request: HTTPRequest, at now: Date, source: CacheResponse.Source)
    -> CacheResponse
  {
    var answer = CacheResponse(record, for: request, at: now, source: source)
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
  fileprivate init(_ record: Record, for request: HTTPRequest, at now: Date, source: Source) {
    let age = record.head.copyStatus(at: now)?.age ?? 0
    (response, body) = StoredResponse.make(record, for: request, age: age)
    self.source = source
  }

  /// The cookies and URLs of the server's own answer are the client's, whether they are stored or not.
  fileprivate mutating func removeSecrets(of response: HTTPResponse) {
    for name in [.setCookie] + SecretQuery.urlFields where response.headerFields.contains(name) {
      self.response.headerFields[fields: name] = response.headerFields[fields: name]
    }
  }
}
