import Foundation
import Synchronization

extension LayerContext {
  /// Declares stale what `set` has, in memory and on disk.
  ///
  /// Memory is stale, and streams ask again, before the disk is searched. A failure is reported as
  /// an event of its key, or, if the store cannot be listed, as an event of no resource's own.
  @concurrent func invalidate(_ set: KeySet) async {
    guard !set.isEmpty else { return }
    let now = configuration.now
    // First: a response that is under way may name a group that was unknown until now.
    marks.add(KeySet(groups: set.groups), at: now(), generations)
    var done = set.named.union(livingMembers.flatMap { $0.keys(in: set) })
    for key in done.inOrder { await invalidate(key, at: now()) }
    guard set.isOpen else { return }
    let stored: [RecordKey]
    do { stored = try await keysOnDisk(set) } catch { return report(error) }
    // Done after memory: the record of a model in memory may be stored only now.
    for key in stored where done.insert(key).inserted { await invalidate(key, at: now()) }
  }

  private func keysOnDisk(_ set: KeySet) async throws -> [RecordKey] {
    var keys = set.groups.isEmpty ? [] : try await cache.keys(ofGroups: set.groups, in: scope)
    keys += try await cache.keys(in: scope) { set.contains($0.key) }
    return keys
  }

  /// - Parameter date: the date of the invalidation; `nil` for now.
  /// - Parameter isTold: `true` if the processes that share the layer's responses know it already.
  func invalidate(_ key: RecordKey, at date: Date? = nil, isTold: Bool = false) async {
    if !isTold { await tellOthers(key) }
    let ticket = generations.beginInvalidation(key)
    // Read after the fence: what was committed before the fence is older than this date.
    let date = date ?? configuration.now()
    announce(.invalidated(key, date))
    do {
      try await change(ticket) { [cache] in try await cache.invalidate(key, at: date) }
    } catch {
      report(error, of: key)
    }
  }

  private func report(_ error: any Error, of key: RecordKey? = nil) {
    report(.saveFailed(ReactorError(error, wrap: ReactorError.persistence)), of: key, model: "ModelLayer")
  }
}
