import Foundation

/// The entries that a process has removed while it reads its store, so that the read does not bring
/// them back.
struct RecentRemovals: Sendable {
  /// The start of a read.
  struct Start: Sendable {
    fileprivate let count: Int
  }

  private var numbers: [UUID: Int] = [:]
  private var count = 0
  private var readings = 0

  /// Starts a read. Call ``end()`` after it.
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

  /// Forgets the removal of an entry that a read may bring back.
  mutating func forget(_ id: UUID) { numbers[id] = nil }

  func contains(_ id: UUID, since start: Start) -> Bool { numbers[id].map { $0 > start.count } ?? false }
}
