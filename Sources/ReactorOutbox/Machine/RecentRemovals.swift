import Foundation

/// The entries that a process has removed while it reads its store, so that the reading does not
/// bring them back.
struct RecentRemovals: Sendable {
  /// The beginning of a reading.
  struct Start: Sendable {
    fileprivate let count: Int
  }

  private var numbers: [UUID: Int] = [:]
  private var count = 0
  private var readings = 0

  /// Begins a reading. Call ``end()`` after it.
  mutating func begin() -> Start {
    readings += 1
    return Start(count: count)
  }

  mutating func end() {
    readings -= 1
    if readings == 0 { numbers = [:] }
  }

  mutating func note(_ id: UUID) {
    guard readings > 0 else { return }
    count += 1
    numbers[id] = count
  }

  /// Forgets the removal of an entry that a reading is to bring back.
  mutating func forget(_ id: UUID) { numbers[id] = nil }

  func contains(_ id: UUID, since start: Start) -> Bool { numbers[id].map { $0 > start.count } ?? false }
}
