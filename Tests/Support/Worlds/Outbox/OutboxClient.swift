import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization

/// One process that uses the library: a layer with an outbox on the world's disk, and its
/// observers.
final class OutboxClient: Sendable {
  let number: Int
  let owner: String
  let traits: OutboxTraits
  /// The program's switch is off: nothing is ever sent.
  let isOff: Bool
  let book: OutboxReference
  let process = SimulatedProcess()
  let layer: ModelLayer
  let boards: Reactor<Board>
  let latest = Shared<[String: LoadState<Board>]>([:])
  /// Opens when the process ends, by a crash or not.
  private let ended = Gate()
  private let identities: IdentitySource
  let stepDraws: SeededDraws
  private let watchers = Mutex<[Task<Void, Never>]>([])

  var world: SimulatedWorld { book.world }

  init(
    _ number: Int, of owner: String, _ traits: OutboxTraits, _ book: OutboxReference, knowsAll: Bool, isOff: Bool,
    _ draws: SeededDraws
  ) {
    self.number = number
    self.owner = owner
    self.traits = traits
    self.isOff = isOff
    stepDraws = SeededDraws(seed: book.world.seed &+ UInt64(number))
    self.book = book
    let world = book.world
    world.note("client \(number) of \(owner) begins\(isOff ? ", switched off" : "")")
    book.begin(number, owner)
    identities = IdentitySource(book, number, draws)
    let own = Shared(Own())
    let desk = CopyDesk(book, process, traits, stepDraws) { own.value.client?.end(crashes: true) }
    let storage = Self.storage(number, book, process, desk, knowsAll: knowsAll)
    var outbox = OutboxConfiguration(
      storage: storage, mutations: knowsAll ? Self.types + [RenameCard.self] : Self.types)
    outbox.idempotencyWindow = traits.window
    outbox.retry.attempts = traits.attempts
    outbox.retry.seed = world.seed
    outbox.maximumAge = traits.maximumAge
    outbox.concurrentLanes = traits.lanes
    outbox.makeID = { [identities] in identities.next() }
    var configuration = world.configuration
    configuration.keepUnusedFor = traits.evicts ? .seconds(2) : .never
    let courier = OutboxTransport(book, number, process, draws.split())
    let backend = Backend(
      baseURL: Self.url, transport: courier,
      middlewares: [ClientCredential(owner: owner, client: number)],
      reachability: isOff ? .never : world.reachability(ends: traits.changesEnd))
    layer = ModelLayer(
      backend: backend, persistence: world.disk.open(in: process), scope: Scope(owner), configuration: configuration,
      extensions: [.outbox(outbox)])
    boards = traits.writesThrough || traits.leaves ? Self.stepping(layer, own) : layer.reactor()
    own.change { $0.client = self }
    courier.entries.change { [weak layer] in $0 = { [weak layer] in layer?.outbox.entries ?? [] } }
    listen()
  }

  /// The store of a process: its own memory, or one on the world's disk, whose calls are noted.
  private static func storage(
    _ number: Int, _ book: OutboxReference, _ process: SimulatedProcess, _ desk: CopyDesk, knowsAll: Bool
  ) -> any OutboxStorage {
    guard book.traits.storage != .memory else { return book.memory(of: number) }
    var store: (any FormStorage)?
    do {
      // A queue of Dispatch releases a connection, and its closures, some time later.
      store = try book.files?.open(now: book.world.clock.wallClock) { [weak desk] in desk?.fault($0, $1) }
    } catch { book.world.check(false, "client \(number) cannot open its outbox: \(error)") }
    return NotedStorage(
      base: book.world.disk.openOutbox(in: process, over: store), book: book, client: number, knowsAll: knowsAll,
      desk: desk)
  }

  private struct Own: Sendable { weak var client: OutboxClient? }

  /// A reactor whose step awaits a write of a local value before it saves it, or takes long, so
  /// that a removal of everything waits for its turn.
  private static func stepping(_ layer: ModelLayer, _ own: Shared<Own>) -> Reactor<Board> {
    var flow = layer.flow(Board.self)
    let save = flow.saveToPersistence
    flow.saveToPersistence = { snapshot, resource in
      await own.value.client?.beforeSaving(snapshot.model, resource.path)
      try await save(snapshot, resource)
    }
    return Reactor(flow: flow)
  }

  /// The types that each release knows.
  private static let types: [any Mutation.Type] = [
    AddCard.self, RemoveCard.self, CheckCard.self, CheckCardAsking.self, CheckCardOnce.self, LeakSecret.self,
    AddPhoto.self,
  ]

  private static let url = URL(string: "https://api.example.com") ?? URL(filePath: "/")

  /// Until the process ends, and until the outbox has been released.
  private func listen() {
    book.keep(
      layer.observeEvents { [weak layer, process, book, number] event in
        guard !process.hasCrashed else { return }
        let text = "\(event)"
        book.world.check(!text.contains(BoardServer.secret), "a secret is in an event: \(text)")
        if case .saveFailed = event.kind, let path = URL(string: event.key.url)?.path() {
          book.changeView(number) { $0.failedSaves.insert(path) }
        }
        guard case .outbox(let id, let step) = event.kind else { return }
        book.heard(id, step, in: number) { layer?.outbox.identity(of: $0)?.number }
      })
  }

  /// Starts the observers, and the reference, which knows what the store has.
  func begin() {
    let watched = traits.evicts ? ["/a"] : BoardServer.paths
    let tasks =
      watched.map { path in spawnApart(on: world.configuration.taskExecutor) { await self.watch(path) } }
    watchers.withLock { $0 += tasks }
  }

  /// Ends the process: with a crash, whatever is under way is lost.
  func end(crashes: Bool) {
    world.note("client \(number) \(crashes ? "crashes" : "ends")")
    if crashes { process.crash() }
    ended.open()
    for task in watchers.withLock({ $0 }) { task.cancel() }
  }

  var hasEnded: Bool { ended.isOpen }

  /// Runs `body` until it is done, or until the process ends: then whatever comes of it counts no
  /// more.
  ///
  /// - Returns: `nil` if the process has ended.
  func run<Value: Sendable>(_ body: @escaping @Sendable (OutboxClient) async throws -> Value) async throws -> Value? {
    guard !hasEnded else { return nil }
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask {
        do { return try await body(self) } catch {
          if self.hasEnded { return nil }
          throw error
        }
      }
      group.addTask { [ended] in
        try? await ended.wait()
        return nil
      }
      defer { group.cancelAll() }
      let first = try await group.next() ?? nil
      return hasEnded ? nil : first
    }
  }

  /// The ids of the next submission are those of `errand`.
  func submitting<Value>(_ errand: Errand, _ body: () async throws -> Value) async rethrows -> Value {
    identities.expect(errand)
    return try await body()
  }
}

extension OutboxClient {
  /// Judges what is shown at this very moment.
  func judgeNow(_ who: String) {
    guard !hasEnded else { return }
    look()
    for path in BoardServer.paths {
      book.judge(
        boards.cached(Resource(path)), drafts: nil, at: path, in: number, before: nil, "\(who), client \(number)")
    }
  }

  /// Tells the reference which entries the process has, and which ids.
  private func look() {
    let outbox = layer.outbox
    let lanes = outbox.entries.filter { !$0.state.isOver || $0.state.isConflicted }.map(\.id)
    book.sees(Set(lanes), in: number) { outbox.identity(of: $0)?.number }
  }

  /// Watches as long as the task lives.
  func watch(_ path: String, isLasting: Bool = true) async {
    let who = "a watcher in client \(number)"
    var before = book.view(number)
    for await state in boards.states(for: Resource(path)) {
      guard !hasEnded else { return }
      look()
      if isLasting { latest.change { $0[path] = state } }
      world.note(
        "\(who) of \(path): \(state.value.map { "\($0.version) \($0.cards.map(\.text))" } ?? "nothing") \(state.drafts.map { "\(book.record($0)?.errand.mark ?? 0)" }) drafts"
      )
      book.judge(
        state.value, drafts: state.value == nil ? nil : state.drafts, at: path, in: number, before: before, who)
      before = book.view(number)
    }
  }
}

extension JSONValue {
  fileprivate var number: Int? { if case .integer(let number) = self { Int(number) } else { nil } }
}

/// The identities of one process: seeded, and told to the reference as they are given to a
/// submission.
final class IdentitySource: Sendable {
  private let book: OutboxReference
  private let client: Int
  private let draws: SeededDraws
  private let state = Mutex<(isFirst: Bool, errand: Errand?)>((true, nil))

  init(_ book: OutboxReference, _ client: Int, _ draws: SeededDraws) {
    self.book = book
    self.client = client
    self.draws = draws
  }

  func expect(_ errand: Errand) { state.withLock { $0.errand = errand } }

  func next() -> UUID {
    let id = UUID.drawn(from: draws)
    let (isFirst, errand) = state.withLock { state in
      defer { state = (false, nil) }
      return state
    }
    if isFirst { book.changeView(client) { $0.process = id } }
    if let errand { book.submitted(errand, as: id, in: client) }
    return id
  }
}

extension UUID {
  static func drawn(from draws: SeededDraws) -> UUID {
    let bytes = (0..<16).map { _ in UInt8(draws.number(below: 256)) }
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}
