import Foundation
import ReactorConformance
import ReactorCore
import ReactorFleet
import ReactorTesting
import Synchronization

/// The store of a world of servers, with its faults.
final class ClusterStore: Sendable {
  let world: SimulatedWorld
  let traits: ClusterTraits
  let memory: MemoryFleetStore
  private let state = Mutex(State())

  private struct State {
    /// Opens when the store continues.
    var frozen: Gate?
    /// The connections for messages, by their numbers.
    var feeds: [Int: Gate] = [:]
    var lastFeed = 0
    /// The greatest fence of each URL that these contents have seen.
    var fences: [FleetURLID: FleetVersion] = [:]
    var isWell = false
    var isRefusing = false
    /// The time at which changes were taken again.
    var acceptedAt: Duration = .zero
  }

  init(_ world: SimulatedWorld, _ traits: ClusterTraits) {
    (self.world, self.traits) = (world, traits)
    let (clock, last) = (world.clock, Shared<UInt64>(0))
    // No two commands of a store take place in one microsecond.
    memory = MemoryFleetStore {
      let now = UInt64(max(0, clock.wallClock().timeIntervalSince1970 * 1_000_000))
      return last.change { last in
        last = max(now, last + 1)
        return last
      }
    }
  }

  var isWell: Bool { state.withLock(\.isWell) }
  var frozen: Gate? { state.withLock(\.frozen) }

  /// A Boolean value that indicates whether no changes are taken.
  var isRefusing: Bool { state.withLock(\.isRefusing) }
  var acceptedAt: Duration { state.withLock(\.acceptedAt) }

  func recover() {
    state.withLock { $0.isWell = true }
    thaw()
    accept()
  }

  // MARK: - Faults

  func freeze() {
    guard frozen == nil else { return }
    world.note("the store is frozen")
    state.withLock { $0.frozen = Gate() }
  }

  func thaw() {
    guard let gate = state.withLock({ $0.frozen.take() }) else { return }
    world.note("the store goes on")
    gate.open()
  }

  func refuse() {
    guard !isWell else { return }
    world.note("the store takes no changes")
    state.withLock { $0.isRefusing = true }
  }

  func accept() {
    guard isRefusing else { return }
    world.note("the store takes changes")
    let now = world.clock.now.elapsed
    state.withLock { ($0.isRefusing, $0.acceptedAt) = (false, now) }
  }

  /// A replica takes over that does not have what came in the last moments.
  func failOver(_ draws: SeededDraws) async {
    let (contents, fences) = (memory.contents, state.withLock(\.fences))
    try? await world.clock.sleep(for: draws.duration(upTo: .seconds(1)))
    guard !isWell else { return }
    world.note("a replica takes over")
    memory.failOver(to: contents)
    state.withLock { $0.fences = fences }
    cutFeeds()
  }

  func cutFeeds() { for gate in state.withLock({ $0.feeds.sorted { $0.key < $1.key }.map(\.value) }) { gate.open() } }

  /// Records a connection for messages.
  ///
  /// - Returns: its number, and the gate that opens when it is lost.
  func openFeed() -> (Int, Gate) {
    state.withLock { state in
      state.lastFeed += 1
      let gate = Gate()
      state.feeds[state.lastFeed] = gate
      return (state.lastFeed, gate)
    }
  }

  func closeFeed(_ number: Int) { state.withLock { _ = $0.feeds.removeValue(forKey: number) } }

  // MARK: - Judgement

  func fenced(_ url: FleetURLID, _ version: FleetVersion) {
    state.withLock { state in
      if version > state.fences[url] ?? FleetVersion(rawValue: 0) { state.fences[url] = version }
    }
  }

  /// Judges a record that is kept: it was asked for after every fence, and has nothing of a user's.
  func judge(_ ticket: FleetTicket, _ change: FleetChange) {
    let fence = state.withLock { $0.fences[ticket.record.url] }
    world.check(
      fence.map { $0 < ticket.version } ?? true, "the ticket \(ticket.version) is kept after the fence \(fence as Any)")
    let data: [Data] =
      switch change {
      case .response(let head, let body): [head, body]
      case .confirmation(let head, _): [head]
      @unknown default: []
      }
    for data in data {
      world.check(data.range(of: Data(ClusterOrigin.secret.utf8)) == nil, "a user's response is in the store")
    }
  }
}

/// The connections of one server to the store.
final class ClusterLink: FleetStore {
  let store: ClusterStore
  let process: SimulatedProcess
  let standstill: Standstill
  /// Receives each fence that the store has acknowledged.
  let fenced: @Sendable (FleetURLID) -> Void
  private let draws: SeededDraws

  init(
    _ store: ClusterStore, _ process: SimulatedProcess, _ standstill: Standstill, _ draws: SeededDraws,
    fenced: @escaping @Sendable (FleetURLID) -> Void
  ) {
    (self.store, self.process, self.standstill, self.draws, self.fenced) = (store, process, standstill, draws, fenced)
  }

  private var world: SimulatedWorld { store.world }
  private func way() async { try? await world.clock.sleep(for: draws.duration(upTo: store.traits.latency)) }
  private func isLost() -> Bool { !store.isWell && draws.chance(store.traits.callLoss / 2) }

  /// Carries out a call, or not, and answers, or not.
  private func call<Value: Sendable>(
    writes: Bool = true, _ body: @escaping @Sendable () async throws(FleetError) -> Value
  ) async throws(FleetError) -> Value {
    guard !process.hasCrashed else { throw .unavailable("the process has ended") }
    await way()
    if let gate = store.frozen {
      // What was sent is carried out later, and the reply is lost.
      _ = spawnApart(on: world.configuration.taskExecutor) {
        try? await gate.wait()
        _ = try? await body()
      }
      try? await world.clock.sleep(for: .seconds(1))
      throw .unavailable("frozen")
    }
    guard !isLost() else {
      try? await world.clock.sleep(for: .seconds(1))
      throw .unavailable("the call is lost")
    }
    let isRefused = writes && store.isRefusing
    let value: Value?
    if isRefused { value = nil } else { value = try await body() }
    await way()
    await standstill.wait()
    guard !isLost() else {
      try? await world.clock.sleep(for: .seconds(1))
      throw .unavailable("the answer is lost")
    }
    guard let value else { throw .readOnly("refused") }
    return value
  }

  func read(_ record: FleetRecordID, known: FleetVersion?) async throws(FleetError) -> FleetStoredRecord {
    try await call(writes: false) { [store] () throws(FleetError) in try await store.memory.read(record, known: known) }
  }

  func begin(
    _ record: FleetRecordID, _ wish: FleetLeaseRequest, lease: Duration, retention: Duration
  ) async throws(FleetError) -> FleetLeaseAnswer {
    try await call { [store] () throws(FleetError) in
      try await store.memory.begin(record, wish, lease: lease, retention: retention)
    }
  }

  func renew(_ ticket: FleetTicket, lease: Duration) async throws(FleetError) -> Bool {
    try await call { [store] () throws(FleetError) in try await store.memory.renew(ticket, lease: lease) }
  }

  func commit(
    _ ticket: FleetTicket, _ change: FleetChange, retention: Duration
  ) async throws(FleetError) -> FleetCommitResult {
    try await call { [store] () throws(FleetError) in
      let end = try await store.memory.commit(ticket, change, retention: retention)
      if end == .kept { store.judge(ticket, change) }
      return end
    }
  }

  func release(_ ticket: FleetTicket, _ reason: FleetRelease) async throws(FleetError) {
    try await call { [store] () throws(FleetError) in try await store.memory.release(ticket, reason) }
  }

  func fence(
    _ url: FleetURLID, removes: Bool, replaying version: FleetVersion?
  ) async throws(FleetError) -> FleetVersion {
    let version = try await call { [store] () throws(FleetError) in
      let version = try await store.memory.fence(url, removes: removes, replaying: version)
      store.fenced(url, version)
      return version
    }
    fenced(url)
    return version
  }

  func generation(of scope: String, renews: Bool) async throws(FleetError) -> FleetGeneration {
    try await call { [store] () throws(FleetError) in try await store.memory.generation(of: scope, renews: renews) }
  }

  func beat(_ node: String, nonce: UInt64, scopes: [String]) async throws(FleetError) -> FleetHeartbeat {
    let isRefused = store.isRefusing
    let pulse = try await call(writes: false) { [store] () throws(FleetError) in
      try await store.memory.beat(node, nonce: nonce, scopes: scopes)
    }
    guard !isRefused else { throw .readOnly("refused") }
    return pulse
  }

  func nodes() async throws(FleetError) -> Int { try await store.memory.nodes() }

  // MARK: - Messages

  /// Passes on messages in their order, each after its way, until the connection is lost.
  func follow(_ node: String, _ body: @escaping @Sendable (FleetMessage) -> Void) async throws(FleetError) {
    guard !process.hasCrashed else { throw .unavailable("the process has ended") }
    await way()
    guard store.frozen == nil, !isLost() else {
      try? await world.clock.sleep(for: .milliseconds(500))
      throw .unavailable("no connection")
    }
    let (number, cut) = store.openFeed()
    defer { store.closeFeed(number) }
    let isSilent = Shared(false)
    let (messages, sender) = AsyncStream.makeStream(of: (FleetMessage, Duration).self)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [store, world, draws] in
        try? await store.memory.follow(node) { message in
          sender.yield((message, world.clock.now.elapsed + draws.duration(upTo: store.traits.latency)))
        }
      }
      group.addTask { [self] in
        for await (message, time) in messages {
          let wait = time - world.clock.now.elapsed
          if wait > .zero { try? await world.clock.sleep(for: wait) }
          await stall()
          await standstill.wait()
          guard !Task.isCancelled, !process.hasCrashed else { return }
          if !isSilent.value { body(message) }
        }
      }
      group.addTask { try? await cut.wait() }
      group.addTask { [process] in try? await process.waitForCrash() }
      if store.traits.cutsFeeds {
        group.addTask { [world, draws, store] in
          try? await world.clock.sleep(for: draws.duration(upTo: .seconds(60)))
          while store.isWell, !Task.isCancelled { try? await world.clock.sleep(for: .seconds(3_600)) }
        }
      }
      if store.traits.silencesFeeds {
        group.addTask { [world, draws, store] in
          try? await world.clock.sleep(for: draws.duration(upTo: .seconds(60)))
          if !store.isWell, !Task.isCancelled {
            world.note("a connection for messages goes silent")
            isSilent.change { $0 = true }
          }
          while !Task.isCancelled { try? await world.clock.sleep(for: .seconds(3_600)) }
        }
      }
      await group.next()
      group.cancelAll()
    }
    world.note("a connection for messages is lost")
  }

  /// Messages stand still now and then, and continue as if nothing had been.
  private func stall() async {
    if let gate = store.frozen { try? await gate.wait() }
    guard store.traits.stallsFeeds, !store.isWell, draws.chance(0.05) else { return }
    let time = draws.duration(upTo: .seconds(8))
    world.note("messages stand still for \(time)")
    try? await world.clock.sleep(for: time)
    if draws.chance(0.5) { store.cutFeeds() }
  }
}
