import Foundation

/// Server-sent events: a frame for what has changed, at most ten a second, and a comment where nothing does.
///
/// Nothing is made unless the reader asks, so that a slow one gets fewer frames with more in each; what it has not been told is kept
/// as a set of keys. One who is gone leaves nothing.
struct LiveFeed: Sendable {
  /// Between two frames.
  static let interval = Duration.milliseconds(100)
  /// Intervals without a frame before a comment is sent: 15 seconds.
  static let silence = 150

  let recorder: Recorder
  let clock: any Clock<Duration>

  struct Iterator: Sendable {
    private let clock: any Clock<Duration>
    private weak let recorder: Recorder?
    private var cursor = FeedCursor()

    init(_ feed: LiveFeed) {
      clock = feed.clock
      recorder = feed.recorder
    }

    /// `nil` once the task is cancelled, or the inspector is gone.
    mutating func next() async -> Data? {
      for _ in 0..<LiveFeed.silence {
        // The first frame comes at once.
        if cursor.revision != nil {
          do { try await clock.sleep(for: LiveFeed.interval) } catch { return nil }
        }
        guard !Task.isCancelled, let recorder else { return nil }
        let (data, cursor) = await Self.data(recorder, cursor)
        self.cursor = cursor
        if let data { return data }
      }
      return Data(": nothing has changed\n\n".utf8)
    }

    /// Not on the reader's executor: a frame may hold a thousand rows.
    @concurrent private static func data(
      _ recorder: Recorder, _ cursor: FeedCursor
    ) async -> (Data?, FeedCursor) {
      var cursor = cursor
      guard let frame = recorder.frame(&cursor), let json = try? JSONEncoder().encode(frame) else {
        return (nil, cursor)
      }
      return (Data("data: ".utf8) + json + Data("\n\n".utf8), cursor)
    }
  }
}
