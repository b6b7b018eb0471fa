import Foundation
import HTTPCaching

/// A layer whose responses other processes share: between its memory and the server stands a
/// ``LayerUpstream``.
extension LayerContext {
  /// Makes what others change stale here, too.
  func follow(_ upstream: any LayerUpstream) -> any Sendable & AnyObject {
    upstream.observe { [weak self] keys in self?.changedElsewhere(keys) }
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
}
