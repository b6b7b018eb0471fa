import Synchronization

/// The number of bytes that a flow's save step has saved of a model that was encoded for it. It travels with the
/// snapshot, since the step returns nothing.
final class SaveReceipt: Sendable {
  private let count = Atomic<Int>(0)

  var bytes: Int { count.load(ordering: .relaxed) }

  func saved(_ bytes: Int) { count.store(bytes, ordering: .relaxed) }
}

extension Snapshot {
  /// The same, to be told how many bytes are saved of it.
  var withReceipt: Snapshot {
    var snapshot = self
    snapshot.receipt = SaveReceipt()
    return snapshot
  }
}
