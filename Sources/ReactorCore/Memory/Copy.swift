import Foundation

/// Where a value came from.
public enum Origin: Sendable, Hashable {
  /// It was in memory already.
  case memory
  /// From the record on disk.
  case persistence
  /// From the server, or confirmed by it.
  case network
  /// Written by this program, not yet seen by the server.
  case local
}

/// A decoded model with what its freshness needs. Immutable, and one reference to pass.
final class Copy<Model: Sendable>: Sendable {
  let model: Model
  let fetchedAt: Date
  let head: Record.Head?
  let origin: Origin
  let freshness: Freshness
  /// Bytes of payload that it was made from.
  let cost: Int

  init(_ snapshot: Snapshot<Model>, origin: Origin, cost: Int? = nil) {
    model = snapshot.model
    fetchedAt = snapshot.fetchedAt
    head = snapshot.head
    self.origin = snapshot.isLocal && origin == .persistence ? .local : origin
    freshness = snapshot.freshness
    self.cost = cost ?? snapshot.record?.body.count ?? 0
  }

  private init(_ copy: Copy, freshness: Freshness) {
    model = copy.model
    fetchedAt = copy.fetchedAt
    head = copy.head
    origin = copy.origin
    cost = copy.cost
    self.freshness = freshness
  }

  /// The same model, stale from `date` on at the latest.
  func invalidated(at date: Date) -> Copy {
    var freshness = freshness
    freshness.invalidatedAt = min(freshness.invalidatedAt ?? date, date)
    return Copy(self, freshness: freshness)
  }

  /// What a flow's step is given: the model without the bytes.
  var snapshot: Snapshot<Model> { Snapshot(model: model, fetchedAt: fetchedAt, head: head) }

  /// Whether a resource with these header fields is answered by it (RFC 9111 §4.1).
  func isSelected(by resource: Resource) -> Bool { head?.variant?.matches(resource.headers) ?? true }

  /// Whether it is known to be another variant than the one that `resource` asks for. With `Vary: *` it never is: whoever
  /// waits or watches while it arrives may have it.
  func isAnotherVariant(for resource: Resource) -> Bool {
    head?.variant?.names != ["*"] && !isSelected(by: resource)
  }
}

extension Snapshot {
  /// Whether a resource with these header fields is answered by it (RFC 9111 §4.1).
  func isSelected(by resource: Resource) -> Bool { head?.variant?.matches(resource.headers) ?? true }
}
