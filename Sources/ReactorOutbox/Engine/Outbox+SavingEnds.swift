import Foundation
import ReactorCore

/// The outcomes of attempts in a store that may fail, or that another process has changed.
extension Outbox {
  /// Saves the outcome of an attempt. A store that fails is tried three times.
  ///
  /// After a failure, only the ids that the outcome gives to other entries are saved, not the
  /// rewritten entries: a later read applies the ids. By then the entries may have changed, and
  /// what was saved of an attempt since must stay.
  ///
  /// - Parameter rewritten: The other entries that get ids.
  /// - Returns: The changes of this entry that could not be saved. Other entries are saved with
  ///   their own outcomes. `nil` if another process has changed the entry since the attempt began:
  ///   its change counts, and this outcome is dropped.
  func saveEnd(
    _ changes: [OutboxChange], of ended: Ended, rewriting rewritten: Set<UUID>, _ epoch: Int, _ layer: LayerContext
  ) async -> [OutboxChange]? {
    var rest = changes
    for attempt in 1...3 {
      guard let left = await save(rest, of: ended, epoch, layer) else { return nil }
      rest = left
      if rest.isEmpty || attempt == 3 { break }
      rest.removeAll { $0.entry.map(rewritten.contains) == true }
      try? await layer.configuration.clock.sleep(for: .milliseconds(100 * attempt))
    }
    rest.removeAll { $0.entry.map { $0 != ended.entry.id } == true }
    return rest
  }

  /// Keeps trying, for an hour, to save an outcome that the app already sees. The lane is blocked
  /// meanwhile: after a restart the entry would be sent again, and must not follow an entry that
  /// was behind it.
  func keepSaving(_ changes: [OutboxChange], of ended: Ended, _ epoch: Int, _ layer: LayerContext) async {
    guard !changes.isEmpty else { return }
    var rest = changes
    var waited = Duration.zero
    withState { _ = $0.unsaved.insert(ended.entry.id) }
    defer { withState { _ = $0.unsaved.remove(ended.entry.id) } }
    // The app's commands on it fail meanwhile instead of waiting.
    changed()
    while !rest.isEmpty, waited < .seconds(3_600), !withState(\.isStopped) {
      do { try await layer.configuration.clock.sleep(for: Self.storePause) } catch { return }
      waited += Self.storePause
      rest = await save(rest, of: ended, epoch, layer) ?? []
    }
  }

  /// Saves changes, unless everything was removed since `epoch`.
  ///
  /// - Returns: The changes that could not be saved; `nil` if another process has changed the
  ///   entry.
  private func save(
    _ changes: [OutboxChange], of ended: Ended, _ epoch: Int, _ layer: LayerContext
  ) async -> [OutboxChange]? {
    var (rest, mayBeSavedAgain) = (changes, true)
    while !rest.isEmpty, withState({ $0.epoch == epoch }) {
      do {
        try await commits.save(commits.enqueue(rest))
        return []
      } catch OutboxStorageError.unknownEntry(let id) {
        if id == ended.entry.id, mayBeSavedAgain {
          mayBeSavedAgain = false
          if await isSavedAgain(id, layer) { continue }
        }
        // The app has withdrawn it, or another process has finished it.
        let count = rest.count
        rest.removeAll { $0.entry == id }
        guard rest.count < count else { return [] }
      } catch OutboxStorageError.changedEntry {
        do {
          guard let stored = try await required(rest, of: ended, layer) else { return nil }
          rest = rest.map { if case .require = $0 { .require(stored) } else { $0 } }
        } catch {
          emit(ended.entry, .storeFailed(.persistence(error)), layer)
          return rest
        }
      } catch {
        emit(ended.entry, .storeFailed(.persistence(error)), layer)
        return rest
      }
    }
    return []
  }

  /// Returns the entry as it is stored now, if this outcome counts nevertheless: it is stored
  /// already, or the server's response is more definite than the other process's state.
  private func required(
    _ changes: [OutboxChange], of ended: Ended, _ layer: LayerContext
  ) async throws -> StoredEntry? {
    let id = ended.entry.id
    let now = layer.configuration.now()
    let claimed = try await configuration.storage.claim(
      id, in: scope, by: process, now: now, until: now + Self.lease.inSeconds)
    // The process that holds it sends it, and gets a response too.
    guard let stored = claimed else { return nil }
    let isSaved = changes.contains { change in
      if case .update(let entry) = change { entry.id == id && entry.bytes == stored.bytes } else { false }
    }
    if isSaved { return stored }
    guard ended.isAnswered, let other = try? OutboxEntry(decoding: stored), !other.isAnswered else { return nil }
    return stored
  }
}

extension Ended {
  /// A Boolean value that indicates whether the server has decided about the entry.
  fileprivate var isAnswered: Bool { sent != nil && entry.isAnswered }
}

extension OutboxEntry {
  /// A Boolean value that indicates whether the entry was accepted or refused.
  fileprivate var isAnswered: Bool { state == .accepted || state == .refused }
}

extension OutboxChange {
  /// The entry that the change updates or requires; `nil` for another change.
  fileprivate var entry: UUID? {
    switch self {
    case .update(let entry), .require(let entry): entry.id
    case .add, .move, .remove, .identify: nil
    }
  }
}
