import Foundation
import ReactorCore
import Synchronization

/// The changes of a store, saved in order. Changes that arrive during a save are saved together by
/// the next one.
final class CommitQueue: Sendable {
  typealias Outcome = Result<[UInt64], any Error>

  /// A change whose place in the order is fixed.
  struct Ticket: Sendable {
    fileprivate let work: Work
    fileprivate let shot = OneShot<Outcome>()
    /// Settled once the change may be saved; `nil` if it may be at once.
    fileprivate var hold: OneShot<Void>?
    fileprivate var isReady: Bool { hold?.isSettled ?? true }
    /// Called with the numbers once the change is saved, before any later change is.
    fileprivate let didSave: @Sendable ([UInt64]) -> Void
  }

  fileprivate enum Work: Sendable {
    case commit([OutboxChange])
    case removeAll(Staying)
  }

  /// The entries and copies that stay when everything else is removed.
  struct Staying: Sendable {
    /// Returns the entries. Called when it is the removal's turn.
    var entries: @Sendable () -> Set<UUID> = { [] }
    /// Returns the entries that are about to be added, and have copies of their forms already.
    /// Called after the copies were listed.
    var copies: @Sendable () -> Set<UUID> = { [] }
  }

  private struct State {
    var tickets: [Ticket] = []
    var isBusy = false
  }

  private let storage: any OutboxStorage
  private let scope: Scope
  private let state = Mutex(State())

  init(_ storage: any OutboxStorage, _ scope: Scope) {
    self.storage = storage
    self.scope = scope
  }

  /// Reserves the position of changes in the queue.
  ///
  /// - Parameter isHeld: `true` if they, and those after them, are saved only once ``save(_:)`` is
  ///   called with their ticket. Call it soon, in any case.
  func enqueue(
    _ changes: [OutboxChange], isHeld: Bool = false, didSave: @escaping @Sendable ([UInt64]) -> Void = { _ in }
  ) -> Ticket {
    enqueue(Ticket(work: .commit(changes), hold: isHeld ? OneShot() : nil, didSave: didSave))
  }

  /// Reserves the position of a removal of everything.
  func enqueueRemoval(keeping staying: Staying = Staying(), didSave: @escaping @Sendable () -> Void) -> Ticket {
    enqueue(Ticket(work: .removeAll(staying), didSave: { _ in didSave() }))
  }

  private func enqueue(_ ticket: Ticket) -> Ticket {
    state.withLock { $0.tickets.append(ticket) }
    return ticket
  }

  /// Saves a change and the changes queued before it. The caller also saves changes that arrive
  /// meanwhile, so that few tasks are needed.
  ///
  /// - Returns: the numbers of the entries that were added or moved.
  /// - Throws: the error of the store.
  @discardableResult func save(_ ticket: Ticket) async throws -> [UInt64] {
    ticket.hold?.settle(())
    let leads = state.withLock { state in
      guard !state.isBusy, !ticket.shot.isSettled else { return false }
      state.isBusy = true
      return true
    }
    if leads { await saveAll() }
    return try await ticket.shot.value.get()
  }

  private func saveAll() async {
    while true {
      let batch = state.withLock { state -> [Ticket] in
        let batch = Self.batch(&state.tickets)
        if batch.isEmpty { state.isBusy = false }
        return batch
      }
      guard !batch.isEmpty else { return }
      await save(batch)
    }
  }

  /// The largest size of the changes that are saved together, in bytes.
  private static let limit = 4 << 20

  /// Removes the tickets from the front that are saved together; none if the first is held; its
  /// owner then saves it and the tickets behind it.
  private static func batch(_ tickets: inout [Ticket]) -> [Ticket] {
    guard tickets.first?.isReady == true else { return [] }
    guard case .commit? = tickets.first?.work else {
      defer { tickets = Array(tickets.dropFirst()) }
      return Array(tickets.prefix(1))
    }
    var size = 0
    let batch = tickets.prefix { ticket in
      guard case .commit(let changes) = ticket.work, ticket.isReady else { return false }
      // The first is taken in any case.
      guard size == 0 || size + changes.size <= limit else { return false }
      size += changes.size
      return true
    }
    tickets.removeFirst(batch.count)
    return Array(batch)
  }

  private func save(_ batch: [Ticket]) async {
    if batch.count > 1, let numbers = try? await perform(.commit(batch.flatMap(\.changes))) {
      var rest = numbers[...]
      for ticket in batch {
        settle(ticket, .success(Array(rest.prefix(ticket.numbered))))
        rest = rest.dropFirst(ticket.numbered)
      }
      return
    }
    // One after the other, so that the failure of one does not affect the others.
    for ticket in batch {
      do { settle(ticket, .success(try await perform(ticket.work))) } catch { settle(ticket, .failure(error)) }
    }
  }

  private func perform(_ work: Work) async throws -> [UInt64] {
    switch work {
    case .commit(let changes): return try await storage.commit(changes, in: scope)
    case .removeAll(let staying):
      let entries = staying.entries()
      if let storage = storage as? any FormStorage {
        try await storage.removeAll(in: scope, keeping: entries, andCopiesOf: staying.copies)
      } else if entries.isEmpty {
        try await storage.removeAll(in: scope)
      } else {
        try await storage.removeAll(in: scope, keeping: entries)
      }
      return []
    }
  }

  private func settle(_ ticket: Ticket, _ outcome: Outcome) {
    if case .success(let numbers) = outcome { ticket.didSave(numbers) }
    ticket.shot.settle(outcome)
  }
}

extension [OutboxChange] {
  /// The approximate size in bytes.
  fileprivate var size: Int {
    reduce(0) { size, change in
      switch change {
      case .add(let entry), .update(let entry), .move(let entry): size + entry.bytes.count + 100
      default: size + 100
      }
    }
  }
}

extension CommitQueue.Ticket {
  fileprivate var changes: [OutboxChange] {
    if case .commit(let changes) = work { changes } else { [] }
  }

  /// The number of entry numbers that the store returns for the changes.
  fileprivate var numbered: Int {
    changes.count { change in
      switch change {
      case .add, .move: true
      default: false
      }
    }
  }
}
