public import ReactorOperators

/// The behaviour of ``LiveUpdates``.
public struct LiveConfiguration: Sendable {
  /// The times at which the stream is open.
  public enum Opening: Sendable, Hashable {
    /// While a stream or an observer of the layer is open, and for this time after the last one.
    case whileObserved(linger: Duration)
    /// From the first observation until the layer is released. For servers.
    case always
  }

  /// The times at which the stream is open. Default: while something is observed, and 30 seconds
  /// longer.
  public var opens: Opening = .whileObserved(linger: .seconds(30))
  /// The requests that changes may cause at once. Default: 4.
  public var concurrency = 4
  /// The shortest time between two requests of one resource that changes cause. Default: 250 ms.
  ///
  /// If its last request took longer than half of this time, the time is twice that, so that a
  /// resource that changes all the time costs the server at most half of the time.
  public var interval: Duration = .milliseconds(250)
  /// The shortest polling interval while changes arrive. Default: 5 minutes.
  ///
  /// A server may lose a change without noticing, so polling streams still poll.
  public var pollingBackstop: Duration = .seconds(300)
  /// The time after which an interrupted stream gives polling streams their own interval back.
  /// Default: 10 seconds.
  public var offlineGrace: Duration = .seconds(10)
  /// The source of the moments at which the app goes to the background and returns. Default: the
  /// system's.
  ///
  /// After five seconds in the background, the stream is closed. When the user returns, it is
  /// opened at once, behind the last change.
  public var activity: any AppActivity = SystemAppActivity()
  /// The seed of the random waits. Default: `nil`, a random seed.
  package var seed: UInt64?

  /// Creates a configuration with the defaults.
  public init() {}
}
