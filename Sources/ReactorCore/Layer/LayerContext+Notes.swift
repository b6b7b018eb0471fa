package import Foundation
import HTTPCaching

/// What a part keeps on disk beside the records of the layer's scope. A removal of everything
/// removes it, too.
extension LayerContext {
  /// Returns the note that was saved under a key; `nil` for none.
  ///
  /// - Throws: the persistence's error, and an error if it takes longer than its budget.
  package func note(of key: RecordKey) async throws -> Data? {
    try await budget.within(key) { [cache, gate] in
      try await gate.with(key) { try await cache.find(key, for: [:]).record?.body }
    }
  }

  /// Saves what `note` returns. A removal of everything that begins later comes after it.
  ///
  /// - Parameter note: Returns the note, or `nil` for nothing to save. A part that has answered
  ///   ``LayerPart/willRemoveAll()`` returns nothing from before.
  package func save(_ key: RecordKey, _ note: () -> Data?) async throws(ReactorError) {
    // First: a removal that begins from here on makes the ticket void.
    let ticket = generations.beginWrite(key)
    guard !generations.isBeingRemoved(key), let note = note() else { return }
    let now = configuration.now()
    let head = Record.Head(identity: key.identity, status: .ok, fields: [:], requestedAt: now, receivedAt: now)
    try await change(ticket) { [cache] in
      try await cache.save(Record(head: head, body: note), for: key)
      ticket.didPersist()
    }
  }
}
