import ReactorCore

/// Counts of events: totals, and one count for each of the latest 120 seconds that had an event.
struct Activity: Sendable {
  struct Counts: Sendable, Hashable, Encodable {
    var events = 0
    /// The number of answers that needed no request: memory hits, fresh persistence hits, shared
    /// responses, and stale values that were served.
    var hits = 0
    var requests = 0
    /// The number of responses that confirmed a stored record (304).
    var notModified = 0
    var failures = 0

    mutating func add(_ event: TimelineEvent) {
      events += 1
      switch event.name {
      case .memoryHit, .servedStale, .sharedHit: hits += 1
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
    // After the clock is set back, events count towards the latest second until the clock passes
    // it.
    if ring.last.map({ $0.at < second }) ?? true { ring.append(Second(at: second)) }
    ring.updateLast { $0.counts.add(event) }
  }

  /// Returns the counts of the seconds from `second` on, oldest first. Seconds without an event are
  /// absent.
  func seconds(since second: Int) -> [Second] { ring.suffix(Self.seconds) { $0.at >= second } }

  static func second(_ milliseconds: Double) -> Int { Int((milliseconds / 1000).rounded(.down)) }
}
