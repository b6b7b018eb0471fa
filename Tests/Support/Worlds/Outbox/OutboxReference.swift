import Foundation
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization

/// The reference of the world: what was submitted, and what each process has said of it.
final class OutboxReference: Sendable {
  private struct State {
    var records: [UUID: Record] = [:]
    var ids: [Int: UUID] = [:]
    var views: [Int: View] = [:]
    var saved: [String: [Int: (board: Board, begun: Duration, ended: Duration?)]] = [:]
    var lastMark = 0
    var lastSaved = 0
    var payloads: [String: String] = [:]
    var waiting: [Int: Int] = [:]
    var tokens: [ModelLayer.ObservationToken] = []
    /// The calls of the store that fail, by the steps that made them fail.
    var failing: [StoreCall] = []
    var uploads: [Int: Upload] = [:]
    /// The outboxes of the processes that run, in worlds where they are in memory.
    var memories: [Int: MemoryOutboxStorage] = [:]
  }

  let world: SimulatedWorld
  let server: BoardServer
  let traits: OutboxTraits
  /// The files of a world with uploads.
  let files: OutboxFiles?
  private let state = Mutex(State())

  init(_ world: SimulatedWorld, _ server: BoardServer, _ traits: OutboxTraits, _ files: OutboxFiles?) {
    self.world = world
    self.files = files
    self.server = server
    self.traits = traits
  }

  var now: Duration { world.clock.now.elapsed }

  func record(_ id: UUID) -> Record? { state.withLock { $0.records[id] } }
  func record(of mark: Int) -> Record? { state.withLock { state in state.ids[mark].flatMap { state.records[$0] } } }
  var records: [Record] { state.withLock { $0.records.values.sorted { $0.errand.mark < $1.errand.mark } } }
  /// The errand that makes a card.
  func creator(of card: TemporaryID) -> Record? { records.first { $0.errand.kind == .add && $0.errand.card == card } }
  func view(_ client: Int) -> View? { state.withLock { $0.views[client] } }
  func views(except client: Int) -> [View] {
    state.withLock { state in state.views.filter { $0.key != client }.map(\.value) }
  }

  func change(_ id: UUID, _ body: (inout Record) -> Void) {
    state.withLock { state in
      guard var record = state.records[id] else { return }
      body(&record)
      state.records[id] = record
    }
  }

  func changeView(_ client: Int, _ body: (inout View) -> Void) {
    state.withLock { state in
      guard var view = state.views[client] else { return }
      body(&view)
      state.views[client] = view
    }
  }

  func nextMark() -> Int {
    state.withLock { state in
      state.lastMark += 1
      return state.lastMark
    }
  }

  /// Returns an id for the latest mark, whose errand is not drawn.
  func newCard() -> TemporaryID {
    let draws = SeededDraws(seed: ~UInt64(state.withLock(\.lastMark)))
    return .named("tmp-\(UUID.drawn(from: draws).uuidString)")
  }

  /// The outboxes in the memory of the processes that run.
  var memories: [MemoryOutboxStorage] { state.withLock { $0.memories.sorted { $0.key < $1.key }.map(\.value) } }

  /// Returns the outbox in the memory of a process that begins, which finds nothing.
  func memory(of client: Int) -> MemoryOutboxStorage {
    let memory = MemoryOutboxStorage()
    state.withLock { $0.memories[client] = memory }
    restored([], [:], in: client)
    return memory
  }

  /// A process has ended, and with it what it had in memory only.
  func endMemory(of client: Int) {
    state.withLock { state in
      guard state.memories.removeValue(forKey: client) != nil else { return }
      for (id, record) in state.records where record.client == client { state.records[id]?.isGone = true }
    }
  }

  func keep(_ token: ModelLayer.ObservationToken) { state.withLock { $0.tokens.append(token) } }

  /// Returns the payload that was sent under a key before, or notes this one.
  func payload(under key: String, orNote payload: String) -> String {
    state.withLock { state in
      if let known = state.payloads[key] { return known }
      state.payloads[key] = payload
      return payload
    }
  }
}

// MARK: - What users and processes do

extension OutboxReference {
  /// A process begins, with what it will find in the store.
  func begin(_ client: Int, _ owner: String) {
    let now = now
    state.withLock { $0.views[client] = View(owner: owner, begun: now) }
  }

  /// The draft of an errand is shown from now on.
  func submitted(_ errand: Errand, as id: UUID, in client: Int) {
    world.note("client \(client) submits \(errand) in \(errand.lane)")
    let now = now
    state.withLock { state in
      state.records[id] = Record(id: id, errand: errand, client: client)
      // A removal takes nothing that its process has submitted since it was asked for.
      let isBeingRemoved = state.views.contains { number, view in
        let isLater = number == client && view.removalAsked < now
        return view.owner == errand.owner && view.storeRemovals > 0 && !isLater
      }
      // A process that has ended has no memory any more.
      state.records[id]?.isGone = isBeingRemoved || traits.storage == .memory && state.memories[client] == nil
      state.ids[errand.mark] = id
      guard var view = state.views[client] else { return }
      view.errands[id] = view.resolved(errand)
      view.phases[id] = .submitting
      view.lastPlace += 1
      view.places[id] = view.lastPlace
      state.views[client] = view
    }
  }

  func notSaved(_ id: UUID, in client: Int) {
    changeView(client) { $0.phases[id] = .gone }
    change(id) { record in
      record.isGone = true
      record.isNotSaved = true
    }
  }

  /// A process has read the store: it shows what it has found.
  func restored(_ entries: [(entry: OutboxEntry, isShown: Bool)], _ identities: [String: Data], in client: Int) {
    let now = now
    // As it is stored: with the id that the server gave, though the end of its creator was not
    // saved.
    let known = entries.map { entry, isShown -> (entry: OutboxEntry, errand: Errand?) in
      let known = record(entry.id)?.errand
      let stored = try? JSONDecoder().decode(StoredArguments.self, from: entry.arguments).errand
      return (entry, isShown && known != nil ? stored ?? known : nil)
    }
    changeView(client) { view in
      view.identities = identities.sorted { $0.key < $1.key }.map {
        (.named($0.key), Int(String(decoding: $0.value, as: UTF8.self)) ?? 0)
      }
      // What it has submitted before it could read is where it was.
      for (entry, errand) in known where view.phases[entry.id] == nil {
        view.places[entry.id] = Int(entry.number)
        guard var errand else { continue }
        if let id = view.id(of: errand.card) { errand.card = .named("\(id)") }
        view.errands[entry.id] = errand
        if entry.state == .accepted {
          view.phases[entry.id] = .accepted(errand, at: now)
          view.accept(entry.id)
        } else if entry.hasPlace {
          view.phases[entry.id] = .pending
          if view.removals > 0 { view.foundInRemoval.insert(entry.id) }
        }
      }
      view.isReady = true
    }
  }

  /// A process has read the store again. It may show what others have added or sent again since.
  ///
  /// - Parameter identities: the ids in the store.
  func read(_ entries: [OutboxEntry], _ identities: [String: Data] = [:], in client: Int) {
    let errands = entries.map { record($0.id)?.errand }
    let now = now
    changeView(client) { view in
      for (entry, errand) in zip(entries, errands) {
        if let number = view.numbers.updateValue(entry.number, forKey: entry.id), number != entry.number {
          view.moved.insert(entry.id)
        }
        guard var errand else { continue }
        switch view.phases[entry.id] {
        case .submitting, .pending: continue
        case .accepted, .gone: guard entry.hasPlace else { continue }
        // It may have been shown since it was read first, or not: an accepted one is uncertain.
        case nil: break
        }
        errand = view.resolved(errand)
        if errand.card.isTemporary, let id = identities[errand.card.string] {
          errand.card = .named(String(decoding: id, as: UTF8.self))
        }
        view.errands[entry.id] = errand
        if entry.hasPlace {
          view.found.insert(entry.id)
          view.moved.insert(entry.id)
        } else if entry.state == .accepted {
          view.phases[entry.id] = .accepted(errand, at: now)
          view.accept(entry.id)
          view.uncertain.insert(entry.id)
        }
      }
    }
  }

  /// A process has these entries in its lanes, and these ids.
  func sees(_ lanes: Set<UUID>, in client: Int, identity: (TemporaryID) -> Int?) {
    let makers = records.filter { $0.errand.kind == .add }.map(\.errand.card)
    changeView(client) { view in
      for id in view.found.intersection(lanes) {
        view.found.remove(id)
        view.phases[id] = .pending
        view.uncertain.remove(id)
      }
      for card in makers where view.id(of: card) == nil {
        if let id = identity(card) { view.identities.append((card, id)) }
      }
    }
  }

  /// Everything of an owner is being removed.
  ///
  /// - Returns: The entries that were saved before.
  func beginRemoval(_ owner: String, in client: Int) -> Set<UUID> {
    let now = now
    return state.withLock { state in
      var removed: Set<UUID> = []
      for (id, record) in state.records where record.errand.owner == owner {
        state.records[id]?.isGone = true
        // An entry that its process had saved when it exited is never acknowledged.
        let isSaved = state.views.values.contains { if case .pending = $0.phases[id] { true } else { false } }
        // A form that is being copied is not added any more.
        let isUpload = record.errand.kind == .upload && record.client == client
        if record.isAcknowledged || isSaved || isUpload { removed.insert(id) }
      }
      state.views[client]?.removals += 1
      state.views[client]?.storeRemovals += 1
      state.views[client]?.removalsBegun += 1
      state.views[client]?.removalAsked = now
      return removed
    }
  }

  /// Everything of an owner was removed, with these entries. A process that had not read them yet
  /// tells of none.
  func removed(_ ids: Set<UUID>, in client: Int) {
    changeView(client) { view in
      for id in ids.union(view.foundInRemoval) where view.phases[id]?.isShown == true { view.phases[id] = .gone }
      view.foundInRemoval = []
    }
  }

  func endRemoval(in client: Int) { changeView(client) { $0.removals -= 1 } }

  /// A removal has reached the store, even if no caller waits for it any more.
  func endStoreRemoval(in client: Int) { changeView(client) { $0.storeRemovals -= 1 } }

  /// Begins a local save.
  func beginSaving(_ cards: [Card], at path: String) -> Board {
    let now = now
    return state.withLock { state in
      state.lastSaved -= 1
      let board = Board(version: state.lastSaved, cards: cards)
      state.saved[path, default: [:]][board.version] = (board, now, nil)
      return board
    }
  }

  func endSaving(_ board: Board, at path: String) {
    let now = now
    state.withLock { $0.saved[path]?[board.version]?.ended = now }
  }

  func saved(_ version: Int, at path: String) -> (board: Board, begun: Duration, ended: Duration?)? {
    state.withLock { $0.saved[path]?[version] }
  }

  /// Makes calls of the store fail, while `body` runs.
  func whileFailing(_ calls: [StoreCall], _ body: () async throws -> Void) async rethrows {
    state.withLock { $0.failing += calls }
    defer {
      state.withLock { state in
        for call in calls { if let index = state.failing.firstIndex(of: call) { state.failing.remove(at: index) } }
      }
    }
    try await body()
  }

  /// - Throws: ``SimulatedDisk/Failed`` for a call that fails now.
  func call(_ call: StoreCall) throws {
    guard !state.withLock({ $0.failing.contains(call) }) else { throw SimulatedDisk.Failed() }
  }

  func upload(_ mark: Int) -> Upload? { state.withLock { $0.uploads[mark] } }
  func changeUpload(_ mark: Int, _ body: (inout Upload?) throws -> Void) rethrows {
    try state.withLock { try body(&$0.uploads[mark]) }
  }

  func wait(in client: Int, _ difference: Int) { state.withLock { $0.waiting[client, default: 0] += difference } }
  func waiting(in client: Int) -> Int { state.withLock { $0.waiting[client] ?? 0 } }
}

/// The arguments of each mutation.
private struct StoredArguments: Decodable {
  var errand: Errand
}

extension TemporaryID {
  /// Decodes an id, so that a seed decides it.
  static func named(_ name: String) -> TemporaryID {
    (try? JSONDecoder().decode(TemporaryID.self, from: Data("\"\(name)\"".utf8))) ?? TemporaryID()
  }
}
