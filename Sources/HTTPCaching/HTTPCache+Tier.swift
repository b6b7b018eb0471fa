import Foundation
import HTTPTypes

/// The way of a request through a tier that other processes share.
extension HTTPCache {
  func plan(
    for request: HTTPRequest, _ key: RecordKey, _ local: Found, through tier: any CacheTier, at start: Date
  ) async -> Plan {
    var (found, now) = (local, start)
    let look = tier.look(for: key, request.headerFields)
    // If it is stale, another process may have asked since.
    if let record = found.record, tier.vouches(for: key, record.head),
      case .answer(let answer) = plan(for: request, key, found, at: now)
    {
      return .answer(answer)
    }
    while true {
      var isShared = false
      switch await look.find(local: found.record) {
      case .record(let record):
        (found.record, found.hasOtherVariant, isShared) = (record, false, true)
        // A record that cannot be saved is read from the tier again.
        try? await save(record, for: key)
      case .same: break
      case .stale:
        guard found.record != nil else { break }
        try? await markStale(key, at: now)
        found.record?.head.invalidate(at: now)
      }
      switch plan(for: request, key, found, at: now) {
      case .answer(var answer):
        if isShared { answer.cacheStatus.detail = "fleet" }
        return .answer(answer)
      case .answerAndSend(let answer, let exchange): return await revalidate(answer, exchange, look)
      case .send(var exchange):
        switch await look.begin(asksAlone: exchange.leadsCollapsing, mayWait: exchange.acceptsCollapsing) {
        case .ask(let ticket):
          exchange.ticket = ticket
          return .send(exchange)
        case .again(let wait): now = start + wait.inSeconds
        case .failed, .held:
          if let stale = staleAnswer(for: exchange, at: now) { return .answer(stale) }
          return .answer(
            CacheResponse(
              response: HTTPResponse(status: .badGateway), body: Data(), source: .none,
              cacheStatus: CacheStatus(detail: "fleet-failed")))
        }
      }
    }
  }

  /// Lets one process revalidate a response that is used meanwhile.
  private func revalidate(_ answer: CacheResponse, _ exchange: CacheRequest, _ look: any CacheTierLook) async -> Plan {
    guard case .ask(let ticket) = await look.begin(asksAlone: true, mayWait: false) else { return .answer(answer) }
    var exchange = exchange
    exchange.ticket = ticket
    return .answerAndSend(answer, exchange)
  }

  /// Shares the server's response to an exchange, unless it was not stored.
  func share(_ record: Record, of exchange: CacheRequest, isStored: Bool, isConfirmation: Bool = false) {
    guard let ticket = exchange.ticket else { return }
    guard isStored, !record.head.fields.contains(.setCookie) else { return ticket.pass() }
    ticket.keep(record, isConfirmation: isConfirmation)
  }
}
