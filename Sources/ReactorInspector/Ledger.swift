import ReactorCore

/// A key of one of the layers that are shown.
struct Subject: Sendable, Hashable {
  let layer: Int
  let key: RecordKey

  /// What the page calls it: it says nothing, and is another in each process.
  var id: String { String(UInt64(bitPattern: Int64(hashValue)), radix: 16) }
}

/// All that has happened, as far as it is kept: ``eventsPerKey`` of each of ``keys`` keys, and the latest ``events`` of all.
struct Ledger: Sendable {
  static let eventsPerKey = 40
  static let keys = 10_000
  static let events = 1_000
  /// Of the latest body that was pruned.
  static let prunedPerKey = 50

  struct History: Sendable {
    fileprivate(set) var events = Ring<TimelineEvent>(capacity: Ledger.eventsPerKey)
    fileprivate(set) var pruned: Pruned?
  }

  /// What was left out of a body.
  struct Pruned: Sendable, Hashable, Encodable {
    struct Element: Sendable, Hashable, Encodable {
      let index: Int
      let reason: String
    }

    /// Milliseconds since 1970.
    let at: Double
    let model: String
    /// Of all, those included that are not listed.
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

  /// - Parameter at: milliseconds since 1970.
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

  /// A sixteenth at once, so that a full ledger does not sort itself at each new key.
  private mutating func forgetOldest() {
    let oldest = histories.map { ($0.key, $0.value.events.last?.number ?? 0) }.sorted { $0.1 < $1.1 }
    for (subject, _) in oldest.prefix(max(1, Self.keys / 16)) { histories[subject] = nil }
  }
}
