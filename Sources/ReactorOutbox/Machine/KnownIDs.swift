import Foundation

/// The ids that the server has given for temporary ones, as JSON: those that entries hold, and the
/// latest others.
struct KnownIDs: Sendable {
  private(set) var ids: [String: Data] = [:]
  /// The temporary ids of ``ids``, in the order in which they became known.
  private var order: [String] = []
  /// The count of ids that the latest look at old ones has left.
  private var kept = 0

  /// Adds ids, and forgets old ones that no entry holds.
  mutating func keep(_ given: [String: Data], isHeld: (String) -> Bool) {
    order += given.keys.filter { ids[$0] == nil }.sorted()
    ids.merge(given) { $1 }
    // A store has as many, so that reading it brings back none that was forgotten.
    let limit = GivenIDs.limit + GivenIDs.slack
    guard order.count > max(kept, limit) + GivenIDs.slack else { return }
    let old = order.dropLast(limit)
    let held = old.filter(isHeld)
    for temporary in Set(old).subtracting(held) { ids[temporary] = nil }
    order = order.suffix(limit) + held
    kept = order.count
  }
}
