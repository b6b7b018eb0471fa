public import Foundation
public import HTTPTypes

/// The effect of a server's response on stored responses, and the client's response.
extension ProxyCache {
  /// Stores, updates or invalidates records by the server's response, and returns the client's
  /// response.
  ///
  /// ```swift
  /// let answer = await cache.receive(response, body: body, for: exchange, at: Date())
  /// ```
  ///
  /// A 500, 502, 503 or 504 is replaced by the stored response where `stale-if-error` allows that
  /// (RFC 5861 §4). An unsafe request that succeeded makes its URLs stale in every scope
  /// (RFC 9111 §4.4). A response that is meant for one client changes no record: one that is
  /// private to its client, or that depends on request fields that are not part of the key. The
  /// method never throws: ``CacheResponse/failure`` holds an error of the persistence.
  ///
  /// Where ``CacheResponse/retry`` is not `nil`, the server has not answered the request yet: send
  /// that request, and pass its response to this method.
  ///
  /// - Parameters:
  ///   - response: The server's response, unchanged.
  ///   - body: The whole body of the response; `nil` if the body is too large to hold and you
  ///     forward it as it arrives. Such a response is not stored, but it still removes, updates
  ///     and invalidates records. The result has `response` itself, unless a stale response
  ///     replaces it.
  ///   - exchange: The request that was sent, from ``plan(for:body:scope:at:)``.
  ///   - now: The current time of the wall clock, when the response is complete.
  public func receive(
    _ response: HTTPResponse, body: Data?, for exchange: CacheRequest, at now: Date
  ) async -> CacheResponse {
    if response.status.kind == .serverError { exchange.ticket?.fail() }
    if [500, 502, 503, 504].contains(response.status.code), var answer = staleAnswer(for: exchange, at: now) {
      answer.cacheStatus.forwardStatus = response.status.code
      return answer
    }
    var answer: CacheResponse
    // The cache's own validators may have caused the error.
    if exchange.sendsValidators, body != nil, [400, 412].contains(response.status.code) {
      answer = CacheResponse(response: response, body: body ?? Data(), source: .network)
      answer.retry = withoutValidators(exchange, at: now)
    } else {
      answer = await judge(response, body: body, for: exchange, at: now)
    }
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
    storable.headerFields = SecretQuery.redact(response.headerFields, names: secretQueryItems, digests: records.digests)
    do {
      let judged = HTTPCache.judge(
        storable, body: body ?? Data(), to: exchange.client.headerFields, for: exchange.key,
        stored: exchange.sendsValidators ? exchange.stored?.head : nil,
        requestedAt: exchange.sentAt, receivedAt: now, keepsCookies: keepsCookies)
      switch (judged, exchange.stored) {
      case (.notModified(let head), let stored?):
        let record = Record(head: head, body: stored.body)
        answer = self.answer(record, to: exchange.client, at: now, source: .validated)
        answer.removeSecrets(of: response)
        let effect = head.effect(of: exchange.ownFields, by: rules)
        answer.isStored = try await store(record, of: exchange, effect, isConfirmation: true)
        share(record, of: exchange, effect, isStored: answer.isStored, isConfirmation: true)
      case (.mismatched, let stored?):
        answer = self.answer(stored, to: exchange.client, at: now, source: .stale)
        answer.retry = withoutValidators(exchange, at: now)
      case (.received(let record), _):
        try await apply(record, hasBody: body != nil, exchange, response, &answer, now)
      case (.notModified, nil), (.mismatched, nil): break
      }
    } catch {
      answer.failure = error
    }
    return answer
  }

  /// Returns the client's request as it came, to be sent once more: the server has answered the
  /// stored validators, not the client's request.
  private func withoutValidators(_ exchange: CacheRequest, at now: Date) -> CacheRequest {
    CacheRequest(
      request: exchange.client, failure: exchange.failure, client: exchange.client, key: exchange.key,
      stored: exchange.stored, found: exchange.found, sentAt: now, sendsValidators: false,
      forwardReason: exchange.forwardReason, underWay: underWay.begin(exchange.key), ticket: exchange.ticket)
  }

  private func apply(
    _ record: Record, hasBody: Bool, _ exchange: CacheRequest, _ response: HTTPResponse,
    _ answer: inout CacheResponse, _ now: Date
  ) async throws {
    switch exchange.client.method {
    case .get: try await receiveGet(record, hasBody: hasBody, exchange, response, &answer, now)
    case .query where exchange.key.method == .query:
      try await receiveGet(record, hasBody: hasBody, exchange, response, &answer, now)
    case .head: try await receiveHead(record.head, exchange, now)
    default: try await receiveUnsafe(record, hasBody: hasBody, exchange, response, &answer, now)
    }
  }

  private func receiveGet(
    _ record: Record, hasBody: Bool, _ exchange: CacheRequest, _ response: HTTPResponse,
    _ answer: inout CacheResponse, _ now: Date
  ) async throws {
    var effect = effect(of: record.head, exchange, response)
    // A body that is too large to hold is not stored. The one before it is out of date.
    if effect == .store, !hasBody { effect = record.head.isNewerState ? .remove : .keep }
    answer.isStored = try await store(record, of: exchange, effect)
    share(record, of: exchange, effect, isStored: answer.isStored)
    // The stored validators did not match. The client's own conditions are still to be evaluated.
    guard hasBody, exchange.sendsValidators, record.head.status == .ok else { return }
    var own = self.answer(record, to: exchange.client, at: now, source: .network)
    own.isStored = answer.isStored
    own.removeSecrets(of: answer.response)
    if own.response.status == .ok { return }
    own.response.headerFields[.age] = record.head.fields[.age]
    answer = own
  }

  /// Updates the stored response if a response to HEAD confirms it, and marks it stale if it shows
  /// a different one (RFC 9111 §4.3.5). A response without validators confirms nothing: a body of
  /// the same length may be another.
  private func receiveHead(_ head: Record.Head, _ exchange: CacheRequest, _ now: Date) async throws {
    guard head.status == .ok, let stored = exchange.stored, stored.head.status == .ok else { return }
    let length = head.fields[.contentLength]
    guard StoredFields.confirm(head.fields, stored.head), length == nil || length == "\(stored.body.count)" else {
      await tier?.fence([exchange.key.url], in: exchange.key.scope, removes: false)
      return try await records.invalidate(exchange.key, at: now)
    }
    let updated = stored.head.updated(
      by: head.fields, exchange.client.headerFields, head.requestedAt, head.receivedAt)
    let effect = updated.effect(of: exchange.ownFields, by: rules)
    guard effect == .remove || StoredFields.validate(head.fields, stored.head) else { return }
    _ = try await store(Record(head: updated, body: stored.body), of: exchange, effect, isConfirmation: true)
  }

  private func receiveUnsafe(
    _ record: Record, hasBody: Bool, _ exchange: CacheRequest, _ response: HTTPResponse,
    _ answer: inout CacheResponse, _ now: Date
  ) async throws {
    let method = exchange.client.method
    guard Invalidation.isCaused(by: method, response) else { return }
    let isOvertaken = exchange.isOvertaken
    // The target's key is redacted already. Redacting it twice would give another key.
    let others = Invalidation.relatedURLs(in: response, to: method, exchange.key.url)
      .map { self.key(of: $0, in: exchange.key.scope) }.filter { $0.url != exchange.key.url }
    let changed = [exchange.key] + others
    let urls = Set(changed.map(\.url))
    let groups = CacheGroups.invalidated(by: response, to: method)
    let origin = URL(string: exchange.key.url)
    // Done before anything is marked stale, so that responses in flight are not stored later.
    underWay.overtake(urls: urls)
    for key in changed {
      if await records.hasRule(key) { underWay.overtake(path: key.url) }
    }
    if let origin, !groups.isEmpty { underWay.overtake(groups: groups, of: WebOrigin(origin)) }
    let rest = underWay.begin(exchange.key)
    var failure: (any Error)?
    await tier?.fence(urls, in: exchange.key.scope, removes: false)
    for key in changed {
      var keys = Set([key])
      // A change by one user affects every scope. The loop continues after an unreadable record.
      do { keys.formUnion(try await records.keys(of: key.url, in: nil)) } catch { failure = error }
      for key in keys {
        do { try await records.invalidate(key, at: now) } catch { failure = error }
      }
    }
    if let origin, !groups.isEmpty {
      do {
        for key in try await records.keys(ofGroups: groups, in: nil, origin: origin) {
          await tier?.fence([key.url], in: key.scope, removes: false)
          try await records.invalidate(key, at: now)
        }
      } catch { failure = error }
    }
    if let failure { throw failure }
    guard hasBody, !isOvertaken, isOfTheTarget(record.head, exchange, response) else { return }
    try await records.save(record, for: exchange.key)
    guard !rest.isOvertaken(groups: record.head.groups) else {
      return try await records.forget(exchange.key, for: exchange.client.headerFields)
    }
    answer.isStored = records.isPersistent
  }

  /// Returns whether the response to a POST also answers a later GET. The response must name the
  /// target and say how long it is fresh (RFC 9110 §9.3.3).
  private func isOfTheTarget(_ head: Record.Head, _ exchange: CacheRequest, _ response: HTTPResponse) -> Bool {
    guard exchange.client.method == .post, head.status == .ok, let location = head.fields[.contentLocation],
      let url = URL(string: exchange.key.url), let origin = WebOrigin(url),
      let named = Invalidation.url(location, from: url, of: origin),
      let target = Invalidation.url(exchange.key.url, from: url, of: origin),
      NormalURL.spelling(of: named) == NormalURL.spelling(of: target)
    else { return false }
    let control = rules.control(of: head.fields)
    let isExplicit = control.maxAge != nil || (head.fields.contains(.expires) && !control.isTargeted)
    return isExplicit && effect(of: head, exchange, response) == .store
  }

  private func effect(of head: Record.Head, _ exchange: CacheRequest, _ response: HTTPResponse) -> StorageEffect {
    head.effect(of: exchange.ownFields, setsCookies: response.headerFields.contains(.setCookie), by: rules)
  }
}

extension ProxyCache {
  /// Saves the server's response to an exchange, or removes the older one.
  ///
  /// Nothing changes if, since the exchange began, the URL was changed, a newer response was
  /// stored, or the stored one was invalidated or removed.
  ///
  /// - Returns: `true` if the response was stored.
  private func store(
    _ record: Record, of exchange: CacheRequest, _ effect: StorageEffect, isConfirmation: Bool = false
  ) async throws -> Bool {
    guard effect != .keep else { return false }
    let fields = exchange.client.headerFields
    let current = try? await records.lookUp(exchange.key, for: fields)
    guard !exchange.isOvertaken(groups: record.head.groups),
      exchange.isUndisturbed(by: current?.head, record.head, isConfirmation: isConfirmation)
    else { return false }
    guard effect == .store else {
      try await records.forget(exchange.key, for: fields)
      return false
    }
    try await records.save(record, for: exchange.key)
    // A later change has marked the stored response stale, perhaps before this one was saved.
    guard !exchange.isOvertaken(groups: record.head.groups) else {
      try await records.forget(exchange.key, for: fields)
      return false
    }
    return records.isPersistent
  }
}
