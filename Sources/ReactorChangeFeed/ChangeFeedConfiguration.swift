/// The limits and times of a ``ChangeFeed``.
public struct ChangeFeedConfiguration: Sendable {
  /// The latest changes that are kept for clients that reconnect. Default: 10,000.
  public var changes = 10_000
  /// The streams that may be open at once. Default: 20,000.
  public var clients = 20_000
  /// The longest time without a byte. A client that hears nothing for two and a half of it opens
  /// another stream. Default: 15 seconds.
  public var heartbeat: Duration = .seconds(15)
  /// The time after which a stream ends, so that clients spread over new servers and their rights
  /// are checked again; each after a random part between 0.8 and 1.2 of it. Default: 15 minutes.
  public var lifetime: Duration = .seconds(900)
  /// The wait before a client reconnects. Default: 2 seconds.
  public var retry: Duration = .seconds(2)
  /// The requests a second that one change may cause. With more clients, each waits for a random
  /// part of the time that they take together. Default: 1,000.
  public var refetchRate: Double = 1_000
  /// The clock that measures these times.
  package var clock: any Clock<Duration> = ContinuousClock()
  /// The executor of the heartbeats.
  package var taskExecutor: (any TaskExecutor)?

  /// Creates a configuration with the defaults.
  public init() {}
}

/// The reason why a stream was not opened.
@nonexhaustive public enum ChangeFeedError: Error, Sendable, Hashable {
  /// As many streams are open as ``ChangeFeedConfiguration/clients`` permits.
  case tooManyClients(limit: Int)
}

extension ChangeFeedError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .tooManyClients(let limit): "\(limit) streams are open, as many as the feed permits; answer with 503"
    }
  }
}
