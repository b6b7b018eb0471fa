public import HTTPTypes

/// The limits and times of a ``ChangeFeed``.
public struct ChangeFeedConfiguration: Sendable {
  /// The latest changes that are kept for clients that reconnect. Default: 10,000.
  public var changes = 10_000
  /// The streams that may be open at once. Default: 20,000.
  public var clients = 20_000
  /// The streams of one user that may be open at once. Default: 8.
  public var clientsPerUser = 8
  /// The time within which a client must take a piece; a slower client loses its place. Default: 30
  /// seconds.
  public var patience: Duration = .seconds(30)
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
  /// The user has as many streams as ``ChangeFeedConfiguration/clientsPerUser`` permits.
  case tooManyClientsOfUser(limit: Int)
  /// The log that the servers share was not heard for ``ChangeFeedConfiguration/heartbeat``, or not
  /// yet, so no server knows what changes.
  case unavailable

  /// The response to the client, which has no body: a 503, or a 429 (RFC 6585 §4), with the time to
  /// wait.
  public var response: HTTPResponse {
    switch self {
    case .tooManyClients: HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "10"])
    case .unavailable: HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "5"])
    case .tooManyClientsOfUser: HTTPResponse(status: .tooManyRequests, headerFields: [.retryAfter: "60"])
    }
  }
}

extension ChangeFeedError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .tooManyClients(let limit): "\(limit) streams are open, as many as the feed permits; answer with 503"
    case .unavailable: "the log of changes that the servers share is not heard; answer with 503"
    case .tooManyClientsOfUser(let limit):
      "\(limit) streams of one user are open, as many as the feed permits; answer with 429"
    }
  }
}
