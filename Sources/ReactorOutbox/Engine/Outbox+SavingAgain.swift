import Foundation
import ReactorCore

/// A store that was removed while this process ran.
///
/// The entries of this process are in memory, and are saved in the new store, in their order, each
/// with a marker among the ids from servers. The marker tells another process that has the entry in
/// memory, too, that a missing entry was sent, not lost.
extension Outbox {
  /// Saves the entries of this process again if the store was replaced since it was last read.
  ///
  /// - Returns: `true` if it is, so that its contents are to be read again.
  func savedAgain(in contents: OutboxContents, _ layer: LayerContext) async throws -> Bool {
    guard withState({ $0.isOther(contents.identity) }) else { return false }
    // Nothing is sent before the order is known.
    let epoch = withState { state in
      state.takeovers += 1
      return state.epoch
    }
    defer { withState { $0.takeovers -= 1 } }
    var (contents, count, failures, isFirst, skipped) = (contents, 0, 0, true, Set<UUID>())
    while true {
      let batch = batch(for: contents, isFirst: isFirst, &skipped, layer)
      guard let ticket = ticket(for: batch, contents, epoch, layer) else { break }
      do {
        try await commits.save(ticket)
        count += batch.added.count
        isFirst = false
        await keepLeases(of: batch.added, layer)
      } catch let error as OutboxStorageError {
        // Another process has added or changed one of them meanwhile.
        failures += 1
        guard error.isOutrun, failures < 10 else { throw error }
      }
      contents = try await configuration.storage.contents(of: scope)
    }
    if count > 0 { emit(nil, .storeFailed(.persistence(OutboxStorageError.replaced(restored: count))), layer) }
    return true
  }

  /// Returns a Boolean value that indicates whether an entry, which the store did not have, is
  /// there again.
  func isSavedAgain(_ id: UUID, _ layer: LayerContext) async -> Bool {
    guard withState({ $0.identity != nil }) else { return false }
    do {
      let contents = try await configuration.storage.contents(of: scope)
      return try await savedAgain(in: contents, layer) || contents.entries.contains { $0.id == id }
    } catch {
      emit(id, key: nil, .storeFailed(.persistence(error)), layer)
      return false
    }
  }

  /// Changes of one commit.
  private struct Batch {
    var changes: [OutboxChange] = []
    /// The entries that are added.
    var added: [UUID] = []
    /// The entries that get numbers, in the order of the changes.
    var numbered: [UUID] = []
    var size = 0

    /// The largest size, in bytes.
    static let limit = 4 << 20
  }

  /// Returns the next changes that rebuild the store from memory.
  ///
  /// - Parameter skipped: The entries that cannot be encoded.
  private func batch(
    for contents: OutboxContents, isFirst: Bool, _ skipped: inout Set<UUID>, _ layer: LayerContext
  ) -> Batch {
    var batch = Batch()
    if isFirst {
      let given = withState(\.identities).filter { contents.identities[$0.key] == nil }
      batch.changes += given.sorted { $0.key < $1.key }.map { .identify($0.key, $0.value) }
    }
    let absent = withState { $0.absent(from: contents) }.filter { !skipped.contains($0.id) }
    for entry in absent {
      guard batch.size < Batch.limit else { return batch }
      var stored = entry.stored
      if let entry = entry.entry {
        do throws(ReactorError) { stored.bytes = try encoded(entry, layer) } catch {
          skipped.insert(entry.id)
          emit(entry, .storeFailed(error), layer)
          continue
        }
      }
      batch.changes += [.add(stored), .identify(Self.marker(of: stored.id), Self.lostIdentity)]
      batch.added.append(stored.id)
      batch.numbered.append(stored.id)
      batch.size += stored.bytes.count
    }
    let now = layer.configuration.now()
    let moved = withState { $0.ahead(of: batch.added, in: contents) }
      .filter { contents.lease(of: $0.id, at: now, except: process) == nil }
    batch.changes += moved.flatMap { [.require($0), .move($0)] }
    batch.numbered += moved.map(\.id)
    return batch
  }

  /// Reserves the position of a batch among the commits.
  ///
  /// - Returns: `nil` if there is nothing to do, or everything was removed meanwhile.
  private func ticket(
    for batch: Batch, _ contents: OutboxContents, _ epoch: Int, _ layer: LayerContext
  ) -> CommitQueue.Ticket? {
    withState { state in
      guard state.isCurrent(epoch), state.isOther(contents.identity) else { return nil }
      guard !batch.changes.isEmpty else {
        state.goOn(with: contents)
        return nil
      }
      return commits.enqueue(batch.changes) { numbers in
        self.withState { state in
          for (id, number) in zip(batch.numbered, numbers) { state.renumber(id, number) }
        }
      }
    }
  }

  /// Leases the entries that this process is sending, so that no other process sends them too.
  private func keepLeases(of ids: [UUID], _ layer: LayerContext) async {
    for id in ids where withState({ $0.queue.active.contains(id) }) {
      let now = layer.configuration.now()
      do {
        _ = try await configuration.storage.claim(
          id, in: scope, by: process, now: now, until: now + Self.lease.inSeconds)
      } catch {
        emit(id, key: nil, .storeFailed(.persistence(error)), layer)
      }
    }
  }
}

extension Outbox {
  private static let markerPrefix = "entry-"

  /// The name, among the ids from servers, that marks an entry as saved again.
  static func marker(of id: UUID) -> String { "\(markerPrefix)\(id.uuidString)" }

  static func isMarker(_ name: String) -> Bool { name.utf8.starts(with: markerPrefix.utf8) }
}

extension OutboxState {
  /// An entry that is in memory and not in the store.
  fileprivate struct Absent {
    /// The entry; `nil` if it cannot be read.
    var entry: OutboxEntry?
    /// The entry as it is stored, with its bytes if it cannot be read.
    var stored: StoredEntry

    var id: UUID { stored.id }
  }

  /// Returns the entries in memory that the store does not have and never had, in order.
  fileprivate func absent(from contents: OutboxContents) -> [Absent] {
    let stored = Set(contents.entries.map(\.id))
    func isAbsent(_ id: UUID) -> Bool { !stored.contains(id) && contents.identities[Outbox.marker(of: id)] == nil }
    let readable = queue.entries.values.filter { isAbsent($0.id) }
      .map { Absent(entry: $0, stored: StoredEntry(id: $0.id, number: $0.number, lane: $0.lane, bytes: Data())) }
    let others = unreadable.values.filter { isAbsent($0.stored.id) }.map { Absent(stored: $0.stored) }
    return (readable + others).sorted { $0.stored.number < $1.stored.number }
  }

  /// Returns the entries that were submitted to a new store before the earlier ones of their lanes
  /// were saved there again: they must follow these.
  ///
  /// - Parameter added: The entries that are saved again next.
  fileprivate func ahead(of added: [UUID], in contents: OutboxContents) -> [StoredEntry] {
    var last: [String: UInt64] = [:]
    for stored in contents.entries where contents.identities[Outbox.marker(of: stored.id)] != nil {
      last[stored.lane] = stored.number
    }
    for id in added { if let lane = queue.entries[id]?.lane { last[lane] = .max } }
    return contents.entries.filter { stored in
      contents.identities[Outbox.marker(of: stored.id)] == nil && stored.number < last[stored.lane] ?? 0
        && queue.entries[stored.id]?.isInLane == true && !queue.active.contains(stored.id)
    }
  }
}

extension OutboxStorageError {
  /// A Boolean value that indicates whether another process has changed the store since it was
  /// read.
  fileprivate var isOutrun: Bool {
    switch self {
    case .duplicateEntry, .changedEntry, .unknownEntry: true
    default: false
    }
  }
}
