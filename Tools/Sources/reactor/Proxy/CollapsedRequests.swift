import Foundation
import HTTPCachingProxy
import HTTPTypes
import Synchronization

/// The requests that are under way at the server. Equal ones wait for them instead of being sent
/// (RFC 9111 §4).
///
/// If a response could not be stored, or served none of the waiting requests, equal requests do not
/// wait for each other for the next two minutes, since waiting would gain nothing. At most 10,000
/// URLs are remembered for that.
final class CollapsedRequests: Sendable {
  /// The end of a request that others waited for.
  enum End: Sendable {
    /// The server answered.
    case answered(isStored: Bool)
    /// The server gave no complete answer.
    case failed(any Error)
    /// The client of the request is gone, and its request with it.
    case abandoned

    init(_ answer: ProxyResponse) {
      guard let failure = answer.failure, answer.response.status == .badGateway, answer.cacheStatus.forwardStatus == nil
      else {
        self = .answered(isStored: answer.isStored)
        return
      }
      self = .failed(failure)
    }
  }

  /// The next step for a request.
  enum Step: Sendable {
    /// Send the request, and pass its flight to ``CollapsedRequests/end(_:_:_:)`` afterwards.
    case lead(Flight)
    /// Send the request.
    case alone
    /// An equal request was in flight, and is finished.
    case ended(End)
  }

  /// One request under way.
  final class Flight: Sendable {
    /// Returns `true` once a change of the URL was answered. Later requests do not wait for this
    /// one, whose answer may be from before the change.
    fileprivate let isOvertaken: @Sendable () -> Bool
    fileprivate let waiters = Mutex(Waiters())

    fileprivate init(_ isOvertaken: @escaping @Sendable () -> Bool) { self.isOvertaken = isOvertaken }
  }

  fileprivate struct Waiters {
    var end: End?
    var continuations: [ObjectIdentifier: CheckedContinuation<End, Never>] = [:]
  }

  private struct State {
    var flights: [String: Flight] = [:]
    /// The hashes of the URLs whose answers could not be stored, each until a time. A URL with the
    /// same hash as another does not wait either.
    var passes: [Int: ContinuousClock.Instant] = [:]

    mutating func pass(_ key: String, until end: ContinuousClock.Instant) {
      if passes.count >= CollapsedRequests.passLimit { passes = [:] }
      passes[key.hashValue] = end
    }
  }

  private static let passDuration = Duration.seconds(120)
  static let passLimit = 10_000
  private let state = Mutex(State())
  private let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameter now: The current time. Default: the time of `ContinuousClock`.
  init(now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }) { self.now = now }

  /// Returns at once if no equal request is in flight, and otherwise when that is finished.
  /// Cancellation ends the wait, as if the other request had been abandoned.
  ///
  /// - Parameters:
  ///   - mayLead: A Boolean value that indicates whether equal requests may wait for this one.
  ///   - isOvertaken: A closure that returns `true` once a change of the URL was answered.
  func join(_ key: String, mayLead: Bool, isOvertaken: @escaping @Sendable () -> Bool = { false }) async -> Step {
    let (step, other) = state.withLock { state -> (Step, Flight?) in
      if let other = state.flights[key], !other.isOvertaken() { return (.alone, other) }
      if let end = state.passes[key.hashValue] {
        if end > now() { return (.alone, nil) }
        state.passes[key.hashValue] = nil
      }
      guard mayLead else { return (.alone, nil) }
      let flight = Flight(isOvertaken)
      state.flights[key] = flight
      return (.lead(flight), nil)
    }
    guard let other else { return step }
    return .ended(await other.wait())
  }

  /// Tells the requests that wait for a flight how it ended.
  func end(_ flight: Flight, _ key: String, _ end: End) {
    state.withLock { state in
      if state.flights[key] === flight { state.flights[key] = nil }
      if case .answered(isStored: false) = end, !flight.isOvertaken() {
        state.pass(key, until: now() + Self.passDuration)
      }
    }
    flight.end(end)
  }

  /// Lets no request wait for another one with this key for two minutes.
  func pass(_ key: String) { state.withLock { $0.pass(key, until: now() + Self.passDuration) } }

  /// The number of requests that wait, for tests.
  var waiting: Int {
    state.withLock { Array($0.flights.values) }.reduce(0) { $0 + $1.waiters.withLock { $0.continuations.count } }
  }
}

extension CollapsedRequests.Flight {
  fileprivate func wait() async -> CollapsedRequests.End {
    final class Token: Sendable {}
    let token = Token()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let end = waiters.withLock { waiters -> CollapsedRequests.End? in
          if let end = waiters.end { return end }
          if Task.isCancelled { return .abandoned }
          waiters.continuations[ObjectIdentifier(token)] = continuation
          return nil
        }
        if let end { continuation.resume(returning: end) }
      }
    } onCancel: {
      waiters.withLock { $0.continuations.removeValue(forKey: ObjectIdentifier(token)) }?.resume(returning: .abandoned)
    }
  }

  fileprivate func end(_ end: CollapsedRequests.End) {
    let continuations = waiters.withLock { waiters in
      waiters.end = end
      defer { waiters.continuations = [:] }
      return waiters.continuations
    }
    for continuation in continuations.values { continuation.resume(returning: end) }
  }
}
