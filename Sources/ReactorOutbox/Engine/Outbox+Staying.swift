import Foundation
import ReactorCore

/// Drafts that stay for a while after the acceptance of their entry; see
/// ``Settlement/keepDraft(for:)``.
extension Outbox {
  /// Turns the drafts of an accepted entry into accepted ones; with `stay`, after that time.
  ///
  /// If the layer is released before, the next one of the scope finds the entry.
  func accept(_ drafts: [Draft], of id: UUID, after stay: Duration?, _ layer: LayerContext) {
    guard let stay else { return layer.accept(drafts) }
    let clock = layer.configuration.clock
    _ = spawnApart(on: layer.configuration.taskExecutor) { [weak self, weak layer] in
      do { try await clock.sleep(for: stay) } catch { return }
      guard let self, let layer else { return }
      layer.accept(drafts)
      // What was fetched meanwhile may be without the change, and fresh.
      await layer.invalidate(drafts.keys, groups: [])
      await endStay(of: id, layer)
    }
  }

  /// Saves that the draft of an entry does not stay any more.
  private func endStay(of id: UUID, _ layer: LayerContext) async {
    guard var entry = withState({ $0.queue.entries[id] }), entry.draftStaysUntil != nil else { return }
    entry.draftStaysUntil = nil
    let ended = entry.withoutRequest()
    do {
      try await commits.save(
        commits.enqueue(updates(of: [ended], layer)) { _ in self.withState { $0.update(ended) } })
    } catch OutboxStorageError.unknownEntry {
      // Everything was removed, or others were accepted since.
    } catch {
      emit(entry, .storeFailed(.persistence(error)), layer)
    }
  }
}

extension OutboxEntry {
  /// Returns the time for which the draft of an accepted entry stays, zero if it is over; `nil` if
  /// the draft does not stay.
  func draftStay(at now: Date) -> Duration? {
    guard state == .accepted, let draftStaysUntil else { return nil }
    // If the clock was set back, the whole time begins again.
    let longest = draftStaysUntil.timeIntervalSince(endedAt ?? now)
    return .seconds(min(max(0, draftStaysUntil.timeIntervalSince(now)), max(0, longest))).upToADay
  }
}
