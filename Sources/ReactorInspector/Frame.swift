/// What the page is told at once: what has changed since the last frame.
struct Frame: Sendable, Encodable {
  struct LoggedEvent: Sendable, Encodable {
    let id: String
    let key: String
    let event: TimelineEvent
  }

  /// Rows and events in one frame, at most; what is left of the rows comes in the next.
  static let rows = 1_000
  static let events = 50

  /// Milliseconds since 1970.
  let now: Double
  /// A Boolean value that indicates whether all that was told before is over, as when a layer has
  /// come or gone.
  let isFirst: Bool
  let isOffline: Bool
  let layers: Int
  let hasFlux: Bool
  let rows: [KeyRow]
  let totals: Activity.Counts
  /// The last of them may still grow.
  let seconds: [Activity.Second]
  /// Oldest first.
  let events: [LoggedEvent]
  let actions: [FluxLog.Entry]
}
