import ReactorCore

/// A key of one of the layers that are shown.
struct Subject: Sendable, Hashable {
  let layer: Int
  let key: RecordKey

  /// The page's identifier of the key. It reveals nothing of the key, and differs between
  /// processes.
  var id: String { String(UInt64(bitPattern: Int64(hashValue)), radix: 16) }
}

/// The recorded events: the latest ``eventsPerKey`` of each of ``keys`` keys, and the latest
/// ``events`` overall.
struct Ledger: Sendable {
  static let eventsPerKey = 40
  static let keys = 10_000
  static let events = 1_000
  /// The limit of the elements listed for a key, of its latest pruned body.
  static let prunedPerKey = 50

  struct History: Sendable {
    fileprivate(set) var events = Ring<TimelineEvent>(capacity: Ledger.eventsPerKey)
    fileprivate(set) var pruned: Pruned?
  }

  /// The elements that a parser left out of a body.
  struct Pruned: Sendable, Hashable, Encodable {
    struct Element: Sendable, Hashable, Encodable {
      let index: Int
      let reason: String
    }

    /// Milliseconds since 1970.
    let at: Double
    let model: String
    /// The number of all pruned elements, including elements that ``elements`` does not list.
    let count: Int
    let elements: [Element]
  }

  struct Entry: Sendable {
    let subject: Subject
    let event: TimelineEvent
  }

  private(set) var histories: [Subject: History] = [:]
  private(set) var all = Ring<Entry>(capacity: Self.events)
  private(set) var activity = Activity()
  private(set) var lastNumber: UInt64 = 0

  /// Records an event. Progress is ignored.
  ///
  /// - Parameter at: The time of the event, in milliseconds since 1970.
  mutating func record(_ event: ReactorEvent, of layer: Int, at: Double) {
    guard var stamped = TimelineEvent(event, at: at) else { return }
    lastNumber += 1
    stamped.number = lastNumber
    let subject = Subject(layer: layer, key: event.key)
    if histories[subject] == nil, histories.count >= Self.keys { forgetOldest() }
    histories[subject, default: History()].events.append(stamped)
    if case .pruned(let elements, let count) = event.kind {
      histories[subject]?.pruned = Pruned(
        at: at, model: event.model, count: count,
        elements: elements.prefix(Self.prunedPerKey).map { .init(index: $0.index, reason: Reason.text($0.error)) })
    }
    all.append(Entry(subject: subject, event: stamped))
    activity.add(stamped)
  }

  mutating func forget(layer: Int) { histories = histories.filter { $0.key.layer != layer } }

  /// Removes a sixteenth of the keys, those without events for the longest time. Removing them one
  /// by one would sort a full ledger for each new key.
  private mutating func forgetOldest() {
    let oldest = histories.map { ($0.key, $0.value.events.last?.number ?? 0) }.sorted { $0.1 < $1.1 }
    for (subject, _) in oldest.prefix(max(1, Self.keys / 16)) { histories[subject] = nil }
  }
}
