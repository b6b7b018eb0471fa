/// One message of the live feed: the changes since the last frame.
struct Frame: Sendable, Encodable {
  struct LoggedEvent: Sendable, Encodable {
    let id: String
    let key: String
    let event: TimelineEvent
  }

  /// The limits of one frame. Further rows follow in the next frame; of the events, the latest are
  /// sent.
  static let rows = 1_000
  static let events = 50

  /// Milliseconds since 1970.
  let now: Double
  /// A Boolean value that indicates whether the page must discard all earlier frames. True for a
  /// reader's first frame, and after a layer was added or deallocated.
  let isFirst: Bool
  let isOffline: Bool
  let layers: Int
  let hasFlux: Bool
  let rows: [KeyRow]
  let totals: Activity.Counts
  /// The counts of the seconds since the last frame. The last frame's rows may still grow.
  let seconds: [Activity.Second]
  /// The latest events, oldest first.
  let events: [LoggedEvent]
  let actions: [FluxLog.Entry]
  /// All writes; `nil` if they are unchanged since an earlier frame.
  let writes: WriteList?
  /// The streams of changes; `nil` if they are unchanged since an earlier frame.
  let streams: [StreamRow]?
}
