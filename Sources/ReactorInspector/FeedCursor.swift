import ReactorCore

/// The position of one reader in the live feed.
struct FeedCursor: Sendable {
  /// The revision of the set of layers; `nil` before the first frame.
  var revision: Int?
  var watches: [Int: KeyWatch] = [:]
  /// The keys of the initial list whose rows are still to be sent, in reverse: the next one is the
  /// last element. The feed sends them in the page's order, so the page need not sort.
  var first: [Subject] = []
  /// The keys that have changed since their rows were sent.
  var pending: Set<Subject> = []
  /// The number of the latest event at the time ``first`` was made.
  var listed: UInt64 = 0
  /// The numbers of the latest event and action that were sent.
  var event: UInt64 = 0
  var action: UInt64 = 0
  /// The latest second that was sent. Its counts may still grow.
  var second = 0
  var isOffline = false
  /// The writes that were sent; `nil` before the first frame.
  var writes: WriteList?
  /// The versions of the layers' writes when they were last listed, and the time.
  var writeVersions: [UInt64?]?
  var writesAt = 0.0
  /// The versions of the layers' streams of changes that were sent; `nil` before the first frame.
  var streamVersions: [UInt64?]?
  /// The number of the latest step that was sent of each layer's stream.
  var streamSteps: [Int: UInt64] = [:]

  /// Removes and returns at most `limit` keys whose rows are due: from ``first``, then from
  /// ``pending``.
  mutating func consumePending(_ limit: Int) -> [Subject] {
    var taken = Array(first.suffix(limit).reversed())
    first.removeLast(taken.count)
    taken += pending.prefix(limit - taken.count)
    pending.subtract(taken)
    return taken
  }
}
