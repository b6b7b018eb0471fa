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
    groupMarks.mark(set.groups, as: generations.next(), at: now())
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

/// The latest invalidation of each group. A response that was requested before it and names the
/// group arrives stale, although its membership of the group was unknown at that time.
final class GroupMarks: Sendable {
  private struct Mark {
    var number: Generation
    var date: Date
  }

  private let marks = Mutex<[String: Mark]>([:])
  private let count = Atomic<Int>(0)
  /// The marks that are kept. A request outlives the 256 latest invalidations of groups only if the
  /// server takes very long.
  private static let limit = 256

  func mark(_ groups: Set<String>, as number: Generation, at date: Date) {
    guard !groups.isEmpty else { return }
    marks.withLock { marks in
      for group in groups { marks[group] = Mark(number: number, date: date) }
      if marks.count > Self.limit {
        let oldest = marks.sortedUnspecialized { $0.value.number < $1.value.number }.prefix(marks.count - Self.limit)
        for (group, _) in oldest { marks[group] = nil }
      }
      count.store(marks.count, ordering: .releasing)
    }
  }

  /// Returns the date of the latest invalidation of one of `groups` that came after `number`.
  func date(of groups: @autoclosure () -> Set<String>, after number: Generation) -> Date? {
    guard count.load(ordering: .acquiring) > 0 else { return nil }
    let groups = groups()
    guard !groups.isEmpty else { return nil }
    return marks.withLock { marks in
      groups.compactMap { marks[$0] }.filter { $0.number > number }.map(\.date).max()
    }
  }
}

extension Snapshot {
  /// Returns the snapshot, stale if a group that it belongs to was invalidated after its request.
  func marked(by marks: GroupMarks, _ ticket: Generations.Ticket) -> Snapshot {
    guard let head, let date = marks.date(of: head.groups, after: ticket.sentNumber) else { return self }
    var snapshot = self
    snapshot.head?.invalidatedAt = date
    snapshot.record?.head.invalidatedAt = date
    return snapshot
  }
}
