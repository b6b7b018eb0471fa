import Foundation

/// The server's ids for temporary ones, as JSON: the ids that entries contain, and
/// the most recent others.
struct KnownIDs: Sendable {
  private(set) var ids: [String: Data] = [:]
  /// The temporary ids of ``ids``, in the order in which they became known.
  private var order: [String] = []
  /// The number of ids that the latest clean-up kept.
  private var kept = 0

  /// Adds ids, and forgets old ones that no entry contains.
  mutating func keep(_ given: [String: Data], isHeld: (String) -> Bool) {
    order += given.keys.filter { ids[$0] == nil }.sorted()
    ids.merge(given) { $1 }
    // A store keeps as many, so that reading it brings back no forgotten id.
    let limit = GivenIDs.limit + GivenIDs.slack
    guard order.count > max(kept, limit) + GivenIDs.slack else { return }
    let old = order.dropLast(limit)
    let held = old.filter(isHeld)
    for temporary in Set(old).subtracting(held) { ids[temporary] = nil }
    order = order.suffix(limit) + held
    kept = order.count
  }
}
