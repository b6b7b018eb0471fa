import Foundation
import HTTPTypes

/// The decision of a private cache on a client's request (RFC 9111 §4): request, stored head and
/// time in, decision out.
enum CacheDecision: Hashable, Sendable {
  /// Answer from what is stored.
  case use
  /// The same, and ask the server in the background (RFC 5861 §3).
  case useAndRevalidate
  /// Ask the server; with the stored validators, where `validates`.
  case ask(validates: Bool)
  /// Answer 504 (§5.2.1.7).
  case gatewayTimeout

  /// - Parameter stored: the record that the request selects; `nil` where there is none.
  init(_ request: HTTPRequest, stored: Record.Head?, at now: Date) {
    let wishes = RequestCacheControl(request.headerFields)
    let asking: CacheDecision = wishes.isOnlyIfCached ? .gatewayTimeout : .ask(validates: stored != nil)
    guard request.method == .get || request.method == .head else {
      self = .ask(validates: false)
      return
    }
    // Only the origin evaluates these (§4.3.2).
    guard !request.headerFields.contains(.ifMatch), !request.headerFields.contains(.ifUnmodifiedSince) else {
      self = wishes.isOnlyIfCached ? .gatewayTimeout : .ask(validates: false)
      return
    }
    guard let stored, !wishes.isNoCache, !wishes.isNoStore, let status = stored.copyStatus(at: now) else {
      self = wishes.isNoStore && !wishes.isOnlyIfCached ? .ask(validates: false) : asking
      return
    }
    self = Self.decide(status, wishes, isImmutable: CacheControl(stored.fields).isImmutable) ?? asking
  }

  /// - Returns: `nil` where the server is to be asked.
  private static func decide(
    _ status: CopyStatus, _ wishes: RequestCacheControl, isImmutable: Bool
  ) -> CacheDecision? {
    let rest = status.lifetime - status.age
    // What is immutable is not asked for again while it is fresh (RFC 8246 §2.1).
    let isYoung = status.age <= wishes.maxAge ?? .infinity || (isImmutable && status.isFresh)
    guard isYoung, rest >= wishes.minFresh ?? -.infinity else { return nil }
    if status.isFresh { return .use }
    guard status.allowsStale, !status.isInvalid else { return nil }
    if let maxStale = wishes.maxStale, -rest <= maxStale { return .use }
    let isOpen = status.isWithinStaleWhileRevalidate && wishes.maxAge == nil && wishes.minFresh == nil
    return isOpen && !wishes.isOnlyIfCached ? .useAndRevalidate : nil
  }
}

extension CacheDecision {
  /// Returns whether what is stored is the answer to a request that got none, or 500, 502, 503 or
  /// 504 (RFC 9111 §4.2.4, RFC 5861 §4).
  ///
  /// - Parameter always: whether any stale response will do that the server does not forbid.
  static func allowsStale(_ stored: Record.Head, for request: HTTPRequest, at now: Date, always: Bool) -> Bool {
    guard let status = stored.copyStatus(at: now), status.allowsStale, !status.isInvalid else { return false }
    let wishes = RequestCacheControl(request.headerFields)
    guard !wishes.isNoCache, !wishes.isNoStore, wishes.maxAge == nil, wishes.minFresh == nil else { return false }
    return status.isFresh || status.isWithinStaleIfError || always
  }
}

extension Record.Head {
  /// Returns its status by its own word alone; `nil` where it may not be kept.
  func copyStatus(at now: Date) -> CopyStatus? {
    var status = Freshness(self, usesHeuristics: true).status(at: now, freshFor: nil, fallback: 0, staleIfError: 0)
    // Harmless for a private cache, and kind to what says it means one that several share (§4.2.4).
    if status?.isFresh == false, CacheControl(fields).isSharedMustRevalidate { status?.allowsStale = false }
    return status
  }
}
