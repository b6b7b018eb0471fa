public import Foundation
import Synchronization

/// A model with the time and the exchange that it was made from.
public struct Snapshot<Model: Sendable>: Sendable {
  /// The model. Setting another one makes the snapshot a new value.
  public var model: Model { didSet { box = nil } }
  /// The time at which it was fetched, from which freshness counts.
  public var fetchedAt: Date
  /// The HTTP exchange that it was made from; `nil` for a local value, and when only the model is
  /// still held.
  public var record: Record?
  /// The HTTP exchange without its body; `nil` for a local value.
  public internal(set) var head: Record.Head?
  /// The reactor's box of ``model``, if it has one. A step that passes it on unchanged makes no new
  /// value.
  var box: (any AnyObject & Sendable)?
  /// The receipt that the save step fills in with the number of bytes saved.
  var receipt: SaveReceipt?
  /// A Boolean value that indicates whether another process has fetched the response.
  var isShared = false
  /// The part that another module adds to a copy with this model; `nil` if the model's type has
  /// none, or the engine has yet to look.
  var presented: (any AnyObject & Sendable)?

  /// Creates a snapshot. Without a record, the resource and the configuration decide its freshness.
  public init(model: Model, fetchedAt: Date, record: Record? = nil) {
    self.model = model
    self.fetchedAt = fetchedAt
    self.record = record
    head = record?.head
  }

  /// Creates a snapshot whose bytes are no longer held.
  init(model: Model, fetchedAt: Date, head: Record.Head?) {
    self.model = model
    self.fetchedAt = fetchedAt
    self.head = head
  }

  /// A Boolean value that indicates whether this program wrote the model.
  var isLocal: Bool { head?.isLocalWrite ?? false }

  /// The basis of its freshness. If a step confirmed the model with a new ``fetchedAt``, that time
  /// counts.
  var freshness: Freshness {
    guard let head else { return Freshness(since: fetchedAt) }
    var freshness = Freshness(head)
    guard head.receivedAt != fetchedAt else { return freshness }
    freshness.since = fetchedAt
    freshness.invalidatedAt = nil
    return freshness
  }
}

/// The number of bytes that a flow's save step has saved of a locally encoded model. It travels
/// with the snapshot, since the step returns nothing.
final class SaveReceipt: Sendable {
  private let count = Atomic<Int>(0)

  var bytes: Int { count.load(ordering: .relaxed) }

  func saved(_ bytes: Int) { count.store(bytes, ordering: .relaxed) }
}

extension Snapshot {
  /// The same snapshot with a new receipt.
  var withReceipt: Snapshot {
    var snapshot = self
    snapshot.receipt = SaveReceipt()
    return snapshot
  }
}
