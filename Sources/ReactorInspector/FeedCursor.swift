import ReactorCore

/// What one reader of the live feed has been told.
struct FeedCursor: Sendable {
  /// Of the layers that are shown; `nil` before the first frame.
  var revision: Int?
  var watches: [Int: KeyWatch] = [:]
  /// Whose rows it is told of first, the next one last: in the order of the list, so that a page need not sort.
  var first: [Subject] = []
  /// Whose rows have changed since it was told of them.
  var pending: Set<Subject> = []
  /// The number of the last event when ``first`` was made.
  var listed: UInt64 = 0
  /// The numbers of the last event and action.
  var event: UInt64 = 0
  var action: UInt64 = 0
  /// The second whose counts were still growing.
  var second = 0
  var isOffline = false

  /// Removes and gives at most `limit` of those whose rows it is to be told of.
  mutating func consumePending(_ limit: Int) -> [Subject] {
    var taken = Array(first.suffix(limit).reversed())
    first.removeLast(taken.count)
    taken += pending.prefix(limit - taken.count)
    pending.subtract(taken)
    return taken
  }
}
