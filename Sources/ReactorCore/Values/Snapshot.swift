public import Foundation
import Synchronization

/// A model, and when and from what it was made.
public struct Snapshot<Model: Sendable>: Sendable {
  public var model: Model { didSet { box = nil } }
  /// When it was fetched: freshness counts from here.
  public var fetchedAt: Date
  /// The exchange that it was made from; `nil` for a local value, and where only the model is still held.
  public var record: Record?
  /// The exchange without its body; `nil` for a local value.
  public internal(set) var head: Record.Head?
  /// The reactor's own box of ``model``, where it has one already: what a step passes on unchanged is no new value.
  var box: (any AnyObject & Sendable)?
  /// Told how many bytes were saved.
  var receipt: SaveReceipt?

  public init(model: Model, fetchedAt: Date, record: Record? = nil) {
    self.model = model
    self.fetchedAt = fetchedAt
    self.record = record
    head = record?.head
  }

  /// A snapshot whose bytes are no longer held.
  init(model: Model, fetchedAt: Date, head: Record.Head?) {
    self.model = model
    self.fetchedAt = fetchedAt
    self.head = head
  }

  /// A Boolean value that indicates whether this program wrote it.
  var isLocal: Bool { head?.isLocalWrite ?? false }

  /// By what its freshness is judged. A step that says "unchanged" has given it a new ``fetchedAt``; then that counts.
  var freshness: Freshness {
    guard let head else { return Freshness(since: fetchedAt) }
    var freshness = Freshness(head)
    guard head.receivedAt != fetchedAt else { return freshness }
    freshness.since = fetchedAt
    freshness.invalidatedAt = nil
    return freshness
  }
}

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
