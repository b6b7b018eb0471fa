public import Foundation
import HTTPCaching

/// The settings of a ``Fleet``.
///
/// ```swift
/// var configuration = FleetConfiguration()
/// configuration.patience = .seconds(2)
/// let fleet = Fleet(store, configuration: configuration)
/// ```
public struct FleetConfiguration: Sendable {
  /// The scopes whose responses leave the process.
  public enum Sharing: Sendable, Hashable {
    /// Only the responses of `Scope.shared`.
    case sharedScope
    /// The responses of every scope. The store then contains responses for single users.
    case everyScope
  }

  /// The scopes whose responses leave the process. Default: ``Sharing/sharedScope``.
  ///
  /// ```swift
  /// configuration.shares = .everyScope  // the store is as private as the users' data
  /// ```
  public var shares = Sharing.sharedScope
  /// The longest time that one request waits for the store, in all its calls together. Default: 100
  /// milliseconds.
  ///
  /// ```swift
  /// configuration.budget = .milliseconds(50)
  /// ```
  public var budget: Duration = .milliseconds(100)
  /// The longest time that a request waits for another server's. Then the server sends its own.
  /// Default: 5 seconds.
  ///
  /// ```swift
  /// configuration.patience = .seconds(2)
  /// ```
  public var patience: Duration = .seconds(5)
  /// The time for which stored responses are still used while no messages arrive. Default: 10
  /// seconds.
  ///
  /// ```swift
  /// configuration.trustWhileBlind = .zero  // validate at once
  /// ```
  public var trustWhileBlind: Duration = .seconds(10)
  /// The time for which the store keeps a stale response, for validation and as a stale fallback.
  /// Default: a day.
  ///
  /// ```swift
  /// configuration.keepsStale = .seconds(3_600)  // stale fallbacks for an outage of an hour
  /// ```
  public var keepsStale: Duration = .seconds(86_400)
  /// A Boolean value that indicates whether one server refreshes a response shortly before it is
  /// stale, while all use it: at a random time in the last twentieth of its lifetime, and earlier
  /// if its request took long. Default: `true`.
  ///
  /// ```swift
  /// configuration.refreshesEarly = false  // no request before a response is stale
  /// ```
  public var refreshesEarly = true
  /// The largest shared body in bytes. Default: 1 MiB.
  public var largestBody = 1 << 20
  /// Called with each change of the connection to the other servers, and with the store's latest
  /// error while no messages arrive. Calls do not overlap, run on any executor, and must return at
  /// once. Default: does nothing.
  ///
  /// ```swift
  /// configuration.statusChanged = { status, error in
  ///   logger.info("fleet: \(status) \(error?.description ?? "")")
  /// }
  /// ```
  public var statusChanged: @Sendable (FleetStatus, FleetError?) -> Void = { _, _ in }
  /// The clock of all waits. Default: `ContinuousClock`.
  public var clock: any Clock<Duration> = ContinuousClock()
  /// The current time of the wall clock. Default: `Date()`.
  public var now: @Sendable () -> Date = { Date() }

  /// The executor of the fleet's tasks; `nil` for the global one. A simulation sets it.
  package var taskExecutor: (any TaskExecutor)?
  /// Returns a random number in 0..<1, for pauses. A simulation sets it.
  package var random: @Sendable () -> Double = { .random(in: 0..<1) }

  /// Creates the default settings.
  public init() {}

  /// The time of a lease. It is renewed while the request is in flight.
  var lease: Duration { .seconds(2) }
  /// The time for which requests do not wait for one another, after a response that cannot be
  /// stored.
  var pass: Duration { .seconds(120) }
  /// The time for which no server sends the request after a failure.
  var failure: Duration { .seconds(1) }
  /// The time between two heartbeats.
  var beat: Duration { .seconds(1) }
}

/// The connection of a server to its fleet.
///
/// ```swift
/// switch fleet.status {
/// case .following: healthy()
/// case .off, .blind, .alone: degraded()
/// }
/// ```
public enum FleetStatus: Sendable, Hashable {
  /// The fleet is not running: nothing is shared.
  case off
  /// The server receives the messages of the others.
  case following
  /// No messages arrive at the moment, and the server uses responses as before.
  case blind
  /// The store is unreachable: the server contacts the origin by itself.
  case alone
}

/// Numbers of a fleet on this server, for gauges and counters. See ``Fleet/statistics``.
///
/// ```swift
/// let numbers = fleet.statistics
/// let wait = numbers.waits > 0 ? numbers.waitingTime / numbers.waits : .zero
/// ```
public struct FleetStatistics: Sendable, Hashable {
  /// The invalidations that are not yet in the store.
  public internal(set) var pendingInvalidations: Int
  /// The requests that wait for another request now.
  public internal(set) var waiting: Int
  /// The finished waits for another request, with or without its response.
  public internal(set) var waits: Int
  /// The total time of these waits.
  public internal(set) var waitingTime: Duration
  /// The number of times that the circuit breaker opened because the store did not answer.
  public internal(set) var breakerOpenings: Int
  /// The number of times that it closed because the store answered again.
  public internal(set) var breakerClosings: Int
  /// The copies that were compared with the store so far, because a message about them may have
  /// been missed.
  public internal(set) var checks: Checks
  /// The time from sending the latest heartbeat until it came back to this server: about the delay
  /// of the others' messages. `nil` before the first came back.
  public internal(set) var messageDelay: Duration?

  /// Counts of compared copies, by what was found.
  public struct Checks: Sendable, Hashable {
    /// The store has the same response.
    public internal(set) var unchanged = 0
    /// The store has another response, or this one was declared stale.
    public internal(set) var changed = 0
    /// The store does not have it.
    public internal(set) var missing = 0
    /// The store did not answer in time, or is unreachable and was not asked.
    public internal(set) var unreachable = 0
  }
}
