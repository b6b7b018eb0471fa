import ReactorCore

/// How much happens: in all, and second by second for the last two minutes.
struct Activity: Sendable {
  struct Counts: Sendable, Hashable, Encodable {
    var events = 0
    /// Answers that needed no request.
    var hits = 0
    var requests = 0
    /// Answers that nothing had changed.
    var notModified = 0
    var failures = 0

    mutating func add(_ event: TimelineEvent) {
      events += 1
      switch event.name {
      case .memoryHit, .servedStale: hits += 1
      case .persistenceHit: hits += event.flag ? 1 : 0
      case .request: requests += 1
      case .notModified: notModified += 1
      case .failed, .saveFailed, .loadFailed: failures += 1
      default: break
      }
    }
  }

  struct Second: Sendable, Hashable, Encodable {
    /// Seconds since 1970.
    let at: Int
    var counts = Counts()
  }

  static let seconds = 120

  private(set) var totals = Counts()
  private var ring = Ring<Second>(capacity: Self.seconds)

  mutating func add(_ event: TimelineEvent) {
    totals.add(event)
    let second = Self.second(event.at)
    // A clock that was set back counts on in the second that it was.
    if ring.last.map({ $0.at < second }) ?? true { ring.append(Second(at: second)) }
    ring.updateLast { $0.counts.add(event) }
  }

  /// The seconds since `second` in which anything happened, that one included.
  func seconds(since second: Int) -> [Second] { ring.suffix(Self.seconds) { $0.at >= second } }

  static func second(_ milliseconds: Double) -> Int { Int((milliseconds / 1000).rounded(.down)) }
}
