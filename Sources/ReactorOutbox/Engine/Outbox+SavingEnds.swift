import Foundation
import ReactorCore

/// The ends of attempts in a store that may fail.
extension Outbox {
  /// Saves the end of an attempt. A store that fails is tried three times.
  ///
  /// After a failure, the ids that the end gives to other entries are saved without those entries:
  /// whoever reads one takes them from there. The entries may be others by then, and what was saved
  /// of an attempt since must stay.
  ///
  /// - Parameter rewritten: The other entries that get ids.
  /// - Returns: The changes that could not be saved, of this entry alone. The others are saved with
  ///   their own ends.
  func saveEnd(
    _ changes: [OutboxChange], of entry: OutboxEntry, rewriting rewritten: Set<UUID>, _ epoch: Int,
    _ layer: LayerContext
  ) async -> [OutboxChange] {
    var rest = changes
    for attempt in 1...3 {
      rest = await save(rest, of: entry, epoch, layer)
      if rest.isEmpty || attempt == 3 { break }
      rest.removeAll { $0.updated.map(rewritten.contains) == true }
      try? await layer.configuration.clock.sleep(for: .milliseconds(100 * attempt))
    }
    rest.removeAll { $0.updated.map { $0 != entry.id } == true }
    return rest
  }

  /// Continues to save an end that is shown already, for an hour. The lane stands still meanwhile:
  /// after a restart the entry is sent again, and must not come after one that was behind it.
  func keepSaving(_ changes: [OutboxChange], of entry: OutboxEntry, _ epoch: Int, _ layer: LayerContext) async {
    var rest = changes
    var waited = Duration.zero
    while !rest.isEmpty, waited < .seconds(3_600), !withState(\.isStopped) {
      do { try await layer.configuration.clock.sleep(for: Self.storePause) } catch { return }
      waited += Self.storePause
      rest = await save(rest, of: entry, epoch, layer)
    }
  }

  /// Saves changes, unless everything was removed since `epoch`.
  ///
  /// - Returns: The changes that could not be saved.
  private func save(
    _ changes: [OutboxChange], of entry: OutboxEntry, _ epoch: Int, _ layer: LayerContext
  ) async -> [OutboxChange] {
    var rest = changes
    while !rest.isEmpty, withState({ $0.epoch == epoch }) {
      do {
        try await commits.save(commits.enqueue(rest))
        return []
      } catch OutboxStorageError.unknownEntry(let id) {
        // The program has taken it back, or another process has ended it.
        let count = rest.count
        rest.removeAll { $0.updated == id }
        guard rest.count < count else { return [] }
      } catch {
        emit(entry, .storeFailed(.persistence(error)), layer)
        return rest
      }
    }
    return []
  }
}

extension OutboxChange {
  /// The entry that the change saves in a new state; `nil` for another change.
  fileprivate var updated: UUID? { if case .update(let entry) = self { entry.id } else { nil } }
}
