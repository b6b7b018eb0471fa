import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorFleet
import ReactorTesting
import Synchronization
import Testing

/// Faults that a store or a connection does not tell of.
@Suite("Servers whose link is faulty", .timeLimit(.minutes(5)))
struct FaultyLinkTests {
  private let store: MemoryFleetStore
  private let clock = TestClock()

  init() { store = FleetServer.store(clock) }

  /// Advances the time second by second until a condition holds.
  private func wait(for server: FleetServer, _ condition: (FleetServer) async -> Bool) async {
    await server.until { server in
      clock.advance(by: .seconds(1))
      return await condition(server)
    }
  }

  @Test func `a server that was stopped compares what it has before it uses it, though no timer has fired`()
    async throws
  {
    let leaping = LeapingClock(clock)
    let one = await FleetServer(store, clock) { $0.clock = leaping }
    try await one.ask("old")
    #expect(await one.stored() == "old")
    leaping.leap(by: .seconds(40))
    #expect(await one.stored() == nil)
    #expect(one.fleet.status == .alone)
    await one.stop()
  }

  @Test func `a connection for messages that has gone silent is replaced`() async throws {
    let one = await FleetServer(store, clock)
    one.store.silenceFeed()
    await wait(for: one) { $0.fleet.status == .blind }
    await wait(for: one) { $0.fleet.status == .following }
    await one.stop()
  }

  @Test func `a refused subscription is reported with its reason, and tried again`() async throws {
    let reports = Shared<[FleetError?]>([])
    let one = await FleetServer(store, clock) { $0.statusChanged = { _, error in reports.change { $0.append(error) } } }
    one.store.feedRefusal.change { $0 = .misconfigured("NOPERM") }
    one.store.silenceFeed()
    await wait(for: one) { _ in reports.value.last == .some(.misconfigured("NOPERM")) }
    await wait(for: one) { $0.fleet.status == .alone }
    one.store.feedRefusal.change { $0 = nil }
    await wait(for: one) { $0.fleet.status == .following }
    #expect(reports.value.last == .some(.none))
    await one.stop()
  }

  @Test func `a store that passes messages on and takes no changes is away, with its reason`() async throws {
    let reports = Shared<[FleetError?]>([])
    let one = await FleetServer(store, clock) { $0.statusChanged = { _, error in reports.change { $0.append(error) } } }
    let other = await FleetServer(store, clock)
    try await one.ask("old")
    await other.until { await $0.stored() == "old" }
    for server in [one, other] { server.store.refusal.change { $0 = .readOnly("READONLY") } }
    // Its change reaches no other server.
    try await other.change()
    await wait(for: one) { $0.fleet.status == .alone }
    #expect(reports.value.last == .some(.readOnly("READONLY")))
    #expect(await one.stored() == nil)
    for server in [one, other] { server.store.refusal.change { $0 = nil } }
    await wait(for: other) { $0.fleet.status == .following && $0.fleet.statistics.pendingInvalidations == 0 }
    await wait(for: one) { $0.fleet.status == .following }
    await one.stop()
    await other.stop()
  }

  @Test func `a server that starts with a faulty link caches as if it had no fleet`() async throws {
    let one = await FleetServer(store, clock, refusal: .readOnly("READONLY"))
    try await one.ask("own")
    #expect(await one.stored() == "own")
    await wait(for: one) { $0.fleet.status == .alone }
    // What it has from before is validated once.
    guard case .send(let exchange) = await one.plan() else { return #expect(Bool(false), "nobody validates") }
    await one.receive("", exchange, status: .notModified)
    for _ in 0..<5 {
      #expect(await one.stored() == "own")
      clock.advance(by: .seconds(1))
    }
    await one.stop()
  }

  @Test func `callers that leave say nothing of the store`() async throws {
    let one = await FleetServer(store, clock)
    one.store.reads.close()
    let leaving = (0..<8).map { number in Task { await one.plan(path: "/\(number)") } }
    await one.until { $0.store.reads.waitingCount == 8 }
    for caller in leaving { caller.cancel() }
    for caller in leaving { _ = await caller.value }
    #expect(one.fleet.statistics.breakerOpenings == 0)
    try await one.fleet.invalidate("https://api.example.com/a")
    #expect(one.fleet.statistics.pendingInvalidations == 0)
    one.store.reads.open()
    await one.stop()
  }

  @Test func `a change that waits is sent at the end, though the store is back only then`() async throws {
    let (one, other) = (await FleetServer(store, clock), await FleetServer(store, clock))
    try await one.ask("old")
    await other.until { await $0.stored() == "old" }
    one.store.isAway.store(true, ordering: .relaxed)
    try await one.change()
    let end = Task { await one.stop() }
    await one.until { $0.fleet.status == .off }
    for _ in 0..<4 {
      clock.advance(by: .milliseconds(100))
      for _ in 0..<100 { await Task.yield() }
    }
    one.store.isAway.store(false, ordering: .relaxed)
    await other.until { server in
      clock.advance(by: .milliseconds(1))
      return await server.stored() == nil
    }
    await end.value
    await other.stop()
  }

  @Test func `a beat requests no more scopes than its limit`() async throws {
    let one = await FleetServer(store, clock) { $0.shares = .everyScope }
    for number in 0..<1_500 {
      try await one.fleet.invalidate("https://api.example.com/a", in: Scope("user \(number)"))
    }
    await wait(for: one) { $0.store.scopes.load(ordering: .relaxed) > 2 }
    #expect(one.store.scopes.load(ordering: .relaxed) <= 1_002)
    await one.stop()
  }

  @Test func `a body that the store cannot return is refused before anything is shared`() async throws {
    struct SmallStore: FleetStore {
      let store: MemoryFleetStore
      var largestBody: Int { 999 }
      func read(_ record: FleetRecordID, known: FleetVersion?) async throws(FleetError) -> FleetStoredRecord {
        FleetStoredRecord()
      }
      func begin(
        _ record: FleetRecordID, _ wish: FleetLeaseRequest, lease: Duration, retention: Duration
      ) async throws(FleetError) -> FleetLeaseAnswer {
        try await store.begin(record, wish, lease: lease, retention: retention)
      }
      func renew(_ ticket: FleetTicket, lease: Duration) async throws(FleetError) -> Bool { false }
      func commit(
        _ ticket: FleetTicket, _ change: FleetChange, retention: Duration
      ) async throws(FleetError) -> FleetCommitResult { .lost }
      func release(_ ticket: FleetTicket, _ reason: FleetRelease) async throws(FleetError) {}
      func fence(
        _ url: FleetURLID, removes: Bool, replaying version: FleetVersion?
      ) async throws(FleetError) -> FleetVersion { FleetVersion(rawValue: 1) }
      func generation(of scope: String, renews: Bool) async throws(FleetError) -> FleetGeneration { "" }
      func beat(_ node: String, nonce: UInt64, scopes: [String]) async throws(FleetError) -> FleetHeartbeat {
        FleetHeartbeat(store: "", generations: [])
      }
      func follow(_ node: String, _ body: @escaping @Sendable (FleetMessage) -> Void) async throws(FleetError) {}
      func nodes() async throws(FleetError) -> Int { 0 }
    }
    var configuration = FleetConfiguration()
    configuration.largestBody = 1_000
    let fleet = Fleet(SmallStore(store: store), configuration: configuration)
    await #expect {
      try await fleet.run()
    } throws: {
      if case FleetError.misconfigured(let reason) = $0 { reason.contains("largestBody") } else { false }
    }
    #expect(fleet.status == .off)
  }
}
