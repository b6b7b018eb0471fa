import HTTPCaching
import HTTPTypes
import NIOCore
import Synchronization

/// The outages of the server behind the proxy: while one lasts, a stale response that may stand in
/// is the answer at once, and one request at a time looks whether the server is back.
final class UpstreamOutages: Sendable {
  /// The failure of an outage.
  struct Failure: Error {
    let error: any Error
    /// A Boolean value that indicates whether the server could not be reached. Then a client
    /// without a stale response gets this error too, for a second.
    let isOfConnection: Bool
  }

  /// The permission to send a request.
  enum Permission {
    case granted
    case refused(any Error)
    /// Another request looks whether the server is back.
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

  /// Returns `true` if the next request is due that looks whether the server is back; `nil` if
  /// there is no outage.
  func isProbeDue(for exchange: CacheRequest) -> Bool? {
    let now = elapsed()
    return table.withLock { $0.error(of: exchange.key) == nil ? nil : $0.isProbeDue(for: exchange.key, at: now) }
  }

  /// - Parameter isBehind: `true` if no client waits for the response.
  func permission(for exchange: CacheRequest, isBehind: Bool) -> Permission {
    let now = elapsed()
    let admission = table.withLock { $0.admit(exchange.key, isAwaited: !isBehind, at: now) }
    guard case .refuse(let failure) = admission else { return .granted }
    if isBehind { return .notNow }
    return failure.isOfConnection ? .refused(failure.error) : .granted
  }

  /// Notes the server's answer.
  ///
  /// - Returns: a line to print, if an outage has begun or ended.
  func answered(_ exchange: CacheRequest, _ status: HTTPResponse.Status) -> String? {
    let isFailure = [500, 502, 503, 504].contains(status.code)
    return end(
      exchange,
      isFailure
        ? .failed(Failure(error: UpstreamStatus(code: status.code), isOfConnection: false), ofConnection: false)
        : .answered)
  }

  /// Notes a request without a complete answer.
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
