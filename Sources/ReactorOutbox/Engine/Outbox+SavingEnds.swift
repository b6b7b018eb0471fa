import Foundation
import ReactorCore

/// The ends of attempts in a store that may fail.
extension Outbox {
  /// Saves the end of an attempt. A store that fails is tried three times.
  ///
  /// - Returns: The changes that could not be saved.
  func saveEnd(
    _ changes: [OutboxChange], of entry: OutboxEntry, _ epoch: Int, _ layer: LayerContext
  ) async -> [OutboxChange] {
    var rest = changes
    for attempt in 1...3 {
      rest = await save(rest, of: entry, epoch, layer)
      if rest.isEmpty || attempt == 3 { break }
      try? await layer.configuration.clock.sleep(for: .milliseconds(100 * attempt))
    }
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
        rest.removeAll { if case .update(let entry) = $0 { entry.id == id } else { false } }
        guard rest.count < count else { return [] }
      } catch {
        emit(entry, .storeFailed(.persistence(error)), layer)
        return rest
      }
    }
    return []
  }
}
