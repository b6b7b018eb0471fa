import Foundation

/// Server-sent events: at most ten frames a second with the changes, and a comment after silence.
///
/// A frame is made only when the reader asks for the next one. A slow reader therefore gets fewer
/// frames with more in each. Its pending changes are a set of keys, and are released with it.
struct LiveFeed: Sendable {
  /// The time between two frames.
  static let interval = Duration.milliseconds(100)
  /// The number of intervals without a change after which a comment is sent: 15 seconds.
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

    /// Returns the next frame or comment, or `nil` once the task is cancelled or the inspector is
    /// deallocated.
    mutating func next() async -> Data? {
      for _ in 0..<LiveFeed.silence {
        // The first frame is sent at once.
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

    /// Returns the encoded frame. Runs off the reader's executor, since a frame may hold a thousand
    /// rows.
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
