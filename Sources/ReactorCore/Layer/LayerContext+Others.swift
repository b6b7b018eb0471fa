import Foundation
import HTTPCaching

/// A layer whose responses other processes share: between its memory and the server stands a
/// ``LayerUpstream``.
extension LayerContext {
  /// Makes what others change stale here, too.
  func follow(_ upstream: any LayerUpstream) -> any Sendable & AnyObject {
    upstream.observe { [weak self] keys in self?.changedElsewhere(keys) }
  }

  /// Notifies other processes that the responses of a key's URL are out of date or removed.
  ///
  /// Call it before the change in this process, so that no later request gets a response from
  /// before the change.
  func tellOthers(_ key: RecordKey, isRemoved: Bool = false) async {
    guard let upstream else { return }
    await upstream.change(RecordKey.get(key), isRemoved: isRemoved, at: configuration.now())
  }

  private func changedElsewhere(_ changed: Set<RecordKey>?) {
    var keys: Set<RecordKey>
    if let changed {
      let own = changed.filter { $0.scope == scope }
      keys = own.union(own.flatMap { self.keys(of: $0.url) })
    } else {
      // A locally saved value does not come from a server.
      keys = Set(livingMembers.flatMap { member in member.keys.filter { member.head(of: $0)?.localModel == nil } })
    }
    let date = configuration.now()
    let tickets = keys.inOrder.map { key in
      let ticket = generations.beginInvalidation(key)
      announce(.invalidated(key, date))
      return ticket
    }
    guard cache.isPersistent, !tickets.isEmpty else { return }
    _ = spawnApart(on: configuration.taskExecutor) { [cache] in
      // A record that cannot be marked is not used without revalidation either, since no feed
      // follows it.
      for ticket in tickets { try? await self.change(ticket) { try await cache.invalidate(ticket.key, at: date) } }
    }
  }

  /// Returns a stored record as it may be used. If this process may have missed a message about it,
  /// the record is marked out of date.
  func trusted(_ record: Record, of key: RecordKey) -> Record {
    guard let upstream, record.head.localModel == nil,
      key.method != .get || !upstream.follows(RecordKey.get(key))
    else {
      return record
    }
    var record = record
    record.head.invalidate(at: configuration.now())
    return record
  }
}
