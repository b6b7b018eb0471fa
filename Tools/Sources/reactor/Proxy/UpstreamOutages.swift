import HTTPCachingProxy
import HTTPTypes
import NIOCore
import Synchronization

/// The outages of the server behind the proxy: during one, a permitted stale response is served at
/// once, and one request at a time checks whether the server is back.
final class UpstreamOutages: Sendable {
  /// The failure of an outage.
  struct Failure: Error {
    let error: any Error
    /// A Boolean value that indicates whether the server could not be reached. Then a client
    /// without a stale response gets this error too, for a second.
    let isOfConnection: Bool
    /// A Boolean value that indicates whether the server gave no complete answer. A status is an
    /// answer, and no disconnection (RFC 9111 §4.2.4).
    var isDisconnection: Bool { !(error is UpstreamStatus) }
  }

  /// The outage that a request falls into.
  struct Outage {
    /// A Boolean value that indicates whether the next probe of the server is due.
    let isProbeDue: Bool
    /// A Boolean value that indicates whether the server gave no complete answer.
    let isDisconnection: Bool
  }

  /// The permission to send a request.
  enum Permission {
    case granted
    case refused(any Error)
    /// Another request is probing the server.
    case notNow
  }

  private let table = Mutex(OutageTable<Failure>())
  private let elapsed: @Sendable () -> Duration

  /// - Parameter elapsed: the monotonic time, from any start.
  init(elapsed: @escaping @Sendable () -> Duration = UpstreamOutages.stopwatch()) { self.elapsed = elapsed }

  private static func stopwatch() -> @Sendable () -> Duration {
    let start = ContinuousClock.now
    return { ContinuousClock.now - start }
  }

  /// Returns the outage that a request falls into; `nil` if its server is not known to be down.
  func outage(for exchange: CacheRequest) -> Outage? {
    let now = elapsed()
    return table.withLock { table in
      table.error(of: exchange.key).map { failure in
        Outage(isProbeDue: table.isProbeDue(for: exchange.key, at: now), isDisconnection: failure.isDisconnection)
      }
    }
  }

  /// - Parameter isBehind: `true` if no client waits for the response.
  func permission(for exchange: CacheRequest, isBehind: Bool) -> Permission {
    let now = elapsed()
    let admission = table.withLock { $0.admit(exchange.key, isAwaited: !isBehind, at: now) }
    guard case .refuse(let failure) = admission else { return .granted }
    if isBehind { return .notNow }
    return failure.isOfConnection ? .refused(failure.error) : .granted
  }

  /// Records the server's answer.
  ///
  /// A failing status begins an outage where a stale response stands in for it, unless the request
  /// was for a range. Where none does, the client gets it, and the next request is sent.
  ///
  /// - Parameter isReplaced: A Boolean value that indicates whether a stale response is served.
  /// - Returns: a line to print, if an outage has begun or ended.
  func answered(_ exchange: CacheRequest, _ status: HTTPResponse.Status, isReplaced: Bool) -> String? {
    guard [500, 502, 503, 504].contains(status.code) else { return end(exchange, .answered) }
    // The part that one client wants may be what fails: the others' requests are still sent.
    let isOfAll = isReplaced && exchange.request.headerFields[.range] == nil
    let isOutage = isOfAll || table.withLock { $0.error(of: exchange.key) != nil }
    let failure = Failure(error: UpstreamStatus(code: status.code), isOfConnection: false)
    return end(exchange, isOutage ? .failed(failure, ofConnection: false) : .unknown)
  }

  /// Records a request without a complete answer.
  ///
  /// - Returns: a line to print, if an outage has begun.
  func failed(_ exchange: CacheRequest, _ error: any Error) -> String? {
    if Task.isCancelled { return end(exchange, .unknown) }
    // A broken answer says nothing of other records.
    let isOfConnection = error is UpstreamUnreachable
    return end(
      exchange, .failed(Failure(error: error, isOfConnection: isOfConnection), ofConnection: isOfConnection))
  }

  private func end(_ exchange: CacheRequest, _ outcome: OutageTable<Failure>.Outcome) -> String? {
    let (now, jitter) = (elapsed(), Double.random(in: 0...1))
    switch table.withLock({ $0.ended(exchange.key, with: outcome, at: now, jitter: jitter) }) {
    case nil: return nil
    case .began: return "outage began: \(exchange.key)"
    case .ended(let duration): return "outage ended after \(duration.components.seconds) s: \(exchange.key)"
    }
  }
}

/// A status of the server that stale responses stand in for.
private struct UpstreamStatus: Error {
  let code: Int
}
