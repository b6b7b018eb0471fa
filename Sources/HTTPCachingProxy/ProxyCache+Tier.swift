import Foundation
import HTTPTypes

/// The way of a request through a tier that other processes share.
extension ProxyCache {
  func plan(
    for request: HTTPRequest, _ key: RecordKey, _ local: Found, through tier: any CacheTier,
    _ look: any CacheTierLook, at start: Date
  ) async -> Plan {
    var (found, now) = (local, start)
    // The record that must be unchanged on disk when the response is stored.
    var saved = local.record?.head
    // A response that expires soon is compared first: another process may have refreshed it.
    let isDue = local.record.map { refreshesEarly($0.head, key, tier, at: start) } ?? false
    // If it is stale, another process may have asked since.
    if !isDue, let record = found.record, tier.vouches(for: key, record.head),
      case .answer(let answer) = plan(for: request, key, found, at: now)
    {
      return .answer(answer)
    }
    var hasWaited = false
    while true {
      // Another request of this process may have brought it.
      if hasWaited, let record = found.record, tier.vouches(for: key, record.head),
        case .answer(let answer) = plan(for: request, key, found, at: now)
      {
        return .answer(answer)
      }
      var isShared = false
      switch await look.find(local: found.record) {
      case .record(let record):
        (found.record, found.hasOtherVariant, isShared) = (record, false, true)
        // A record that cannot be saved is read from the tier again.
        if (try? await records.save(record, for: key)) != nil { saved = record.head }
      case .same: break
      case .stale:
        // Not on disk: it is not used without another look, and a response that is under way would
        // count as overtaken.
        found.record?.head.invalidate(at: now)
      }
      switch plan(for: request, key, found, at: now) {
      case .answer(var answer):
        if isShared { answer.cacheStatus.detail = "fleet" }
        guard isDue, !isShared, request.method == .get, answer.source == .stored, answer.response.status == .ok else {
          return .answer(answer)
        }
        var exchange = exchange(request, key, found, validates: true, at: now)
        exchange.found = saved
        return await revalidate(answer, exchange, look)
      case .answerAndSend(let answer, var exchange):
        exchange.found = saved
        return await revalidate(answer, exchange, look)
      case .send(var exchange):
        switch await look.begin(asksAlone: exchange.leadsCollapsing, mayWait: exchange.acceptsCollapsing) {
        case .ask(let ticket):
          exchange.ticket = ticket
          exchange.underWay = underWay.begin(key)
          // As it is on disk now: a change from before the request makes its response no older.
          exchange.found = await lookUp(key, request).record?.head
          return .send(exchange)
        case .again(let wait):
          (now, hasWaited) = (start + wait.inSeconds, true)
          // It may have been changed, or marked stale, while this request waited.
          found = await lookUp(key, request)
          saved = found.record?.head
        case .failed, .held:
          if let stale = staleAnswer(for: exchange, at: now, wasSent: false) { return .answer(stale) }
          return .answer(
            CacheResponse(
              response: HTTPResponse(status: .badGateway), body: Data(), source: .none,
              cacheStatus: CacheStatus(detail: "fleet-failed")))
        }
      }
    }
  }

  private func refreshesEarly(_ head: Record.Head, _ key: RecordKey, _ tier: any CacheTier, at now: Date) -> Bool {
    // An immutable response is not revalidated while it is fresh (RFC 8246 §2.1).
    guard head.localModel == nil, let status = head.copyStatus(at: now, by: rules), status.isFresh,
      tier.refreshesEarly(head, of: key, status)
    else { return false }
    return !rules.control(of: head.fields).isImmutable
  }

  /// Lets one process revalidate a response that is used meanwhile.
  private func revalidate(_ answer: CacheResponse, _ exchange: CacheRequest, _ look: any CacheTierLook) async -> Plan {
    guard case .ask(let ticket) = await look.begin(asksAlone: true, mayWait: false) else { return .answer(answer) }
    var exchange = exchange
    exchange.ticket = ticket
    return .answerAndSend(answer, exchange)
  }

  /// Shares the server's response to an exchange, if it was stored. A storable response that was
  /// not stored was overtaken by a change, or the persistence failed: the next response may be
  /// storable.
  ///
  /// If the client's own conditions were sent, the ticket is abandoned, since other processes would
  /// get a different response.
  func share(
    _ record: Record, of exchange: CacheRequest, _ effect: StorageEffect, isStored: Bool, isConfirmation: Bool = false
  ) {
    guard let ticket = exchange.ticket else { return }
    guard effect == .store, !record.head.fields.contains(.setCookie) else {
      if !UnkeyedInput.isPresent(in: exchange.ownFields) { ticket.pass() }
      return
    }
    if isStored { ticket.keep(record, isConfirmation: isConfirmation) }
  }
}
