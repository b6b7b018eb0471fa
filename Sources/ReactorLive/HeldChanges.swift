import ReactorCore

/// A change whose keys are requested once a write is over, since that requests them, too.
struct HeldChange: Sendable {
  var set: KeySet
  /// The `Change-Id` of the write; `nil` for the write of a URL of the set.
  var id: String?
  /// The time at which the keys are requested, whatever becomes of the write.
  var until: Duration
}

/// The changes that wait for writes. A change is held only if no write has ended since the layer
/// was asked, so that it never waits for a write that is over.
struct HeldChanges: Sendable {
  private var changes: [HeldChange] = []
  /// The number of writes that have ended.
  private(set) var ends: UInt64 = 0

  /// The time at which ``take(at:)`` returns a change; `nil` for never.
  var deadline: Duration? { changes.map(\.until).min() }

  /// Holds a change back.
  ///
  /// - Parameter ends: the number of ended writes before the layer was asked.
  /// - Returns: `false` if a write has ended since, so that the layer has to be asked again.
  mutating func hold(_ change: HeldChange, since ends: UInt64) -> Bool {
    guard ends == self.ends else { return false }
    changes.append(change)
    return true
  }

  /// Takes the changes that have waited for long enough.
  mutating func take(at time: Duration) -> [HeldChange] {
    defer { changes.removeAll { $0.until <= time } }
    return changes.filter { $0.until <= time }
  }

  /// Takes all changes, since a write has ended.
  mutating func writeEnded() -> [HeldChange] {
    ends &+= 1
    defer { changes = [] }
    return changes
  }

  mutating func removeAll() { changes = [] }
}
