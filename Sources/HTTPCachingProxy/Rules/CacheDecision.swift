import Foundation
import HTTPTypes

/// The decision of a cache on a client's request (RFC 9111 §4).
///
/// The decision is a value that follows from the request, the stored head and the time.
enum CacheDecision: Hashable, Sendable {
  /// Answer with the stored response.
  case use
  /// Answer with the stored response, and ask the server in the background (RFC 5861 §3).
  case useAndRevalidate
  /// Ask the server, with the stored validators if `validates` is `true`.
  case ask(validates: Bool)
  /// Answer 504 (§5.2.1.7).
  case gatewayTimeout

  /// - Parameter stored: The head that the request selects; `nil` where nothing is stored.
  init(_ request: HTTPRequest, stored: Record.Head?, at now: Date, by rules: CacheRules = .private) {
    let wishes = RequestCacheControl(request.headerFields)
    let asking: CacheDecision = wishes.isOnlyIfCached ? .gatewayTimeout : .ask(validates: stored != nil)
    guard [.get, .head, .query].contains(request.method) else {
      self = .ask(validates: false)
      return
    }
    // Only the origin server evaluates these conditions (§4.3.2).
    guard !request.headerFields.contains(.ifMatch), !request.headerFields.contains(.ifUnmodifiedSince) else {
      self = wishes.isOnlyIfCached ? .gatewayTimeout : .ask(validates: false)
      return
    }
    guard let stored, !wishes.isNoCache, !wishes.isNoStore, let status = stored.copyStatus(at: now, by: rules)
    else {
      self = wishes.isNoStore && !wishes.isOnlyIfCached ? .ask(validates: false) : asking
      return
    }
    let isImmutable = rules.control(of: stored.fields).isImmutable
    self = Self.decide(status, wishes, isImmutable: isImmutable) ?? asking
  }

  /// Decides by the status of the stored response and by the request's directives.
  ///
  /// - Returns: The decision, or `nil` if the server must be asked.
  private static func decide(
    _ status: CopyStatus, _ wishes: RequestCacheControl, isImmutable: Bool
  ) -> CacheDecision? {
    let rest = status.lifetime - status.age
    // An immutable response is not revalidated while it is fresh (RFC 8246 §2.1).
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
  /// Returns whether the stored response may be a stale fallback for a request that failed, or for
  /// a 500, 502, 503 or 504 (RFC 9111 §4.2.4, RFC 5861 §4).
  ///
  /// - Parameter always: Pass `true` to allow any stale response that the server does not forbid.
  static func allowsStale(
    _ stored: Record.Head, for request: HTTPRequest, at now: Date, always: Bool, by rules: CacheRules = .private
  ) -> Bool {
    guard let status = stored.copyStatus(at: now, by: rules), status.allowsStale, !status.isInvalid else {
      return false
    }
    let wishes = RequestCacheControl(request.headerFields)
    guard !wishes.isNoCache, !wishes.isNoStore else { return false }
    // The client's own window says more than its wish for a younger or fresher response.
    let overdue = status.age - status.lifetime
    if let window = wishes.staleIfError, status.isFresh || (overdue >= 0 && overdue < window) { return true }
    guard wishes.maxAge == nil, wishes.minFresh == nil else { return false }
    return status.isFresh || status.isWithinStaleIfError || always
  }
}
