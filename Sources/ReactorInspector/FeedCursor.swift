import ReactorCore

/// What one reader of the live feed has been told.
struct FeedCursor: Sendable {
  /// Of the layers that are shown; `nil` before the first frame.
  var revision: Int?
  var watches: [Int: KeyWatch] = [:]
  /// Whose rows it has not been told of yet.
  var pending: Set<Subject> = []
  /// The numbers of the last event and action.
  var event: UInt64 = 0
  var action: UInt64 = 0
  /// The second whose counts were still growing.
  var second = 0
  var isOffline = false

  /// Removes and gives at most `limit` of what is pending.
  mutating func takePending(_ limit: Int) -> [Subject] {
    guard pending.count > limit else {
      defer { pending = [] }
      return Array(pending)
    }
    let taken = Array(pending.prefix(limit))
    pending.subtract(taken)
    return taken
  }
}
