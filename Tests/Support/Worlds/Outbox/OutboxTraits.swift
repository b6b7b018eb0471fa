import Foundation
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting

/// The events that are possible in one world of outboxes.
struct OutboxTraits: Sendable {
  /// For how long the outbox thinks that a key is remembered.
  var window: Duration
  /// A Boolean value that indicates whether the server remembers keys for at least as long.
  var isRemembered: Bool
  var attempts: Int
  var maximumAge: Duration
  var lanes: Int
  /// Memory keeps hardly anything.
  var evicts: Bool
  /// Two processes use the store at once.
  var isShared: Bool
  var crashes: Bool
  /// Users sign out, and others sign in.
  var signsOut: Bool
  var saves: Bool
  /// The wall clock is set.
  var setsClock: Bool
  /// An older release runs for a while, which does not know each mutation.
  var runsOlder: Bool
  /// The changes of connectivity end, and some processes have a switch that is off.
  var changesEnd: Bool
  /// Requests take long to be made, some longer than a lease.
  var isSlow: Bool
  /// Some calls of the outbox's store fail for a while.
  var storeFails: Bool
  /// Several errands are submitted at once.
  var bursts: Bool
  /// The step that saves a board awaits a write of it.
  var writesThrough: Bool
  /// Some requests are larger than an outbox saves.
  var hasPhotos: Bool
  /// Some who sign out do not wait for it.
  var leaves: Bool
  /// No answer of the server may be stored.
  var isUnstored: Bool
  /// A step removes everything, for which another step waits.
  var removesInCircles: Bool
  /// Users upload forms.
  var hasUploads: Bool
  /// Where the outboxes are stored.
  var storage: Storage

  /// The stores of an outbox.
  enum Storage: CaseIterable {
    /// The simulated disk's own.
    case simulated
    /// Journals in real files.
    case files
    /// A real database, in builds with SQLite; files in others.
    case database
    /// The process's memory. Its entries end with it.
    case memory

    /// A Boolean value that indicates whether the store is in real files.
    var isReal: Bool { self == .files || self == .database }
  }

  init(_ world: SimulatedWorld, _ draws: SeededDraws) {
    window =
      draws.element(of: [.seconds(86_400), .seconds(86_400), .seconds(3_600), .seconds(60), .seconds(60), .zero])
      ?? .zero
    isRemembered = draws.chance(0.8)
    attempts = draws.element(of: [20, 20, 3]) ?? 20
    maximumAge = draws.element(of: [.never, .never, .never, .seconds(20)]) ?? .never
    lanes = draws.element(of: [1, 2, 4]) ?? 1
    evicts = draws.chance(0.25)
    isShared = draws.chance(0.3)
    crashes = draws.chance(0.5)
    signsOut = draws.chance(0.3)
    saves = draws.chance(0.3)
    setsClock = world.currentFaults.clockChange > 0
    runsOlder = draws.chance(0.15)
    let later = world.laterDraws
    changesEnd = later.chance(0.25)
    isSlow = later.chance(0.3)
    storeFails = later.chance(0.25)
    bursts = later.chance(0.3)
    writesThrough = saves && !crashes && !signsOut && !isShared && later.chance(0.6)
    hasPhotos = later.chance(0.2)
    leaves = signsOut && later.chance(0.5)
    isUnstored = later.chance(0.15)
    removesInCircles = later.chance(0.2)
    hasUploads = later.chance(0.25)
    let storages = hasUploads ? Storage.allCases.filter(\.isReal) : Storage.allCases
    storage = later.element(of: storages) ?? .simulated
  }

  /// Processes end while they work.
  var endsEarly: Bool { crashes || signsOut || isShared }

  /// A change of the store may fail now.
  func mayFailToSave(_ world: SimulatedWorld) -> Bool { storeFails || world.currentFaults.saveFailure > 0 }

  /// Nothing but what the server does twice by itself is ever done twice.
  var isStrict: Bool { isRemembered && window > .zero }

  func habits(_ draws: SeededDraws) -> BoardServer.Habits {
    var habits = BoardServer.Habits()
    habits.maximumAge = draws.element(of: [0, 5, 60]) ?? 5
    // What is under way as the window ends still arrives.
    habits.memory = isRemembered ? window + .seconds(10) : window / 8
    habits.processing = draws.element(of: [.zero, .seconds(2), .seconds(20)]) ?? .zero
    habits.isBusy = draws.element(of: [0, 0, 0.1, 0.3]) ?? 0
    habits.gatewayError = draws.element(of: [0, 0, 0.1, 0.3]) ?? 0
    habits.isUnstored = isUnstored
    habits.removesTwice = draws.chance(0.7)
    // An accepted draft that a process has left lies over the base that the next one finds, though
    // that may have it already, and have been changed by others since.
    habits.knowsBases = !endsEarly
    habits.conflictsBy409 = draws.chance(0.3)
    return habits
  }
}

/// A call of the outbox's store, each of which may fail separately.
enum StoreCall: CaseIterable {
  case contents, commit, claim, release, removeAll, keep, form

  /// A Boolean value that indicates whether only uploads make the call.
  var isOfForms: Bool { self == .keep || self == .form }
}

/// The outbox on the disk, which tells the reference what a process finds in it.
struct NotedStorage: FormStorage {
  let base: any FormStorage
  let book: OutboxReference
  let client: Int
  let knowsAll: Bool
  /// Copies the forms.
  let desk: CopyDesk

  /// The JSON of an id that will never arrive.
  static let lost = Data("null".utf8)

  func contents(of scope: Scope) async throws -> OutboxContents {
    try book.call(.contents)
    let contents = try await base.contents(of: scope)
    book.world.check(contents.setAside.isEmpty, "client \(client) finds \(contents.setAside.count) damaged parts")
    let isFirst = book.view(client)?.isReady == false
    let entries = contents.entries.compactMap { try? OutboxEntry(decoding: $0) }
    let identities = contents.identities.filter { $0.value != Self.lost }
    if isFirst {
      let now = book.world.clock.wallClock()
      book.restored(
        entries.map { ($0, (knowsAll || $0.name != RenameCard.name) && !$0.wasAcceptedLong(before: now)) },
        identities, in: client)
    }
    book.read(entries, identities, in: client)
    return contents
  }

  func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
    try book.call(.commit)
    for case .update(let stored) in changes {
      guard let entry = try? OutboxEntry(decoding: stored), entry.state == .sending else { continue }
      // What is saved to be sent goes on in a pause.
      book.changeView(client) { if !$0.isPaused { $0.prepared.insert(entry.id) } }
    }
    book.judgeDecisions(changes, in: client, knowsAll: knowsAll)
    var hasCopies = true
    for case .add(let stored) in changes where !desk.process.hasCrashed {
      hasCopies = await book.judgeCopy(stored, in: scope) && hasCopies
    }
    do {
      let numbers = try await base.commit(changes, in: scope)
      book.world.check(hasCopies || desk.process.hasCrashed, "an entry is added whose form is gone")
      return numbers
    } catch is FaultyPersistence.Crashed {
      // The work of the crashed process no longer matters, and it stops soonest if nothing fails.
      return Array(repeating: 1, count: changes.count)
    }
  }

  func claim(_ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date) async throws -> StoredEntry? {
    try book.call(.claim)
    let stored = try await base.claim(id, in: scope, by: process, now: now, until: until)
    book.read([stored].compactMap { $0.flatMap { try? OutboxEntry(decoding: $0) } }, in: client)
    return stored
  }

  func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
    try book.call(.release)
    try await base.release(id, in: scope, by: process)
  }

  func removeAll(in scope: Scope?) async throws { try await base.removeAll(in: scope) }

  func removeAll(in scope: Scope, keeping ids: Set<UUID>) async throws {
    try await base.removeAll(in: scope, keeping: ids)
  }

  /// The removal that an outbox makes.
  func removeAll(
    in scope: Scope, keeping ids: Set<UUID>, andCopiesOf copies: @escaping @Sendable () -> Set<UUID>
  ) async throws {
    defer { book.endStoreRemoval(in: client) }
    try book.call(.removeAll)
    try await base.removeAll(in: scope, keeping: ids, andCopiesOf: copies)
  }
}

extension NotedStorage {
  func keep(
    _ form: MultipartForm, for id: UUID, in scope: Scope, unless isUnwanted: @escaping @Sendable () -> Bool
  ) async throws -> KeptForm {
    try book.call(.keep)
    return try await desk.copy(id) { try await base.keep(form, for: id, in: scope, unless: isUnwanted) }
  }

  func form(of id: UUID, in scope: Scope, contentType: String) async throws -> EncodedForm {
    try book.call(.form)
    return try await base.form(of: id, in: scope, contentType: contentType)
  }
}

extension OutboxEntry {
  /// A Boolean value that indicates whether it is sent some time, unless somebody takes it back.
  var hasPlace: Bool {
    switch state {
    case .waiting, .sending, .unknown, .conflicted: true
    case .refused, .unresolved, .accepted: false
    }
  }

  /// Returns `true` if it was accepted so long ago that a new process does not show it.
  func wasAcceptedLong(before now: Date) -> Bool {
    state == .accepted && endedAt.map { !(0..<600).contains(now.timeIntervalSince($0)) } ?? true
  }
}
