public import ReactorCore
import Synchronization

extension ModelLayer {
  /// Fetches for open streams each time the app comes to the foreground, until the layer is
  /// released. Without this call, nothing is fetched then.
  ///
  /// ```swift
  /// layer.refetchInForeground(olderThan: .seconds(60))
  /// ```
  ///
  /// A stream fetches if its value is stale or older than `age`, or its latest attempt failed. All
  /// streams of a value share one request. Nothing is fetched in the background, for a stream of
  /// `FetchPolicy.cacheOnly`, or for a removed value. Without connectivity, the request waits for
  /// it.
  ///
  /// Call it once for a layer. A second call adds a second rule.
  ///
  /// - Parameters:
  ///   - age: The age at which a value that is still fresh is fetched too. By default, fresh values
  ///     are not fetched.
  ///   - interval: The shortest time between two rounds of fetches. If the app returns earlier,
  ///     nothing is fetched. Zero or less sets no limit.
  ///   - activity: The source of the moments.
  public func refetchInForeground(
    olderThan age: Duration = .never, atMostEvery interval: Duration = .seconds(30),
    activity: any AppActivity = SystemAppActivity()
  ) {
    let latest = ForegroundMoment(layer.configuration.clock)
    layer.follow(activity.becameActive) { layer in
      if latest.begin(after: interval) { layer.refreshStreams(olderThan: age) }
    }
  }
}

/// The latest moment at which streams fetched.
private final class ForegroundMoment: Sendable {
  private let clock: any Clock<Duration>
  private let elapsed = Mutex<(@Sendable () -> Duration)?>(nil)

  init(_ clock: any Clock<Duration>) { self.clock = clock }

  /// Begins a new moment; returns `false` if the latest one began less than `interval` ago.
  func begin(after interval: Duration) -> Bool {
    // If the clock was set back, the interval counts as passed.
    if let past = elapsed.withLock(\.self)?(), past >= .zero, past < interval { return false }
    let new = clock.stopwatch()
    elapsed.withLock { $0 = new }
    return true
  }
}
