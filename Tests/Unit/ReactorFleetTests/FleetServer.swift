import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorFleet
import ReactorTesting
import Synchronization
import Testing

/// A store whose calls fail and whose messages are lost on demand.
final class UnreliableStore: FleetStore {
  let store: MemoryFleetStore
  /// `true` while the store is away.
  let isAway = Atomic<Bool>(false)
  /// `true` while messages are lost unnoticed.
  let isMute = Atomic<Bool>(false)
  /// The number of begins that have arrived.
  let begins = Atomic<Int>(0)
  /// The point at which a commit waits before it is carried out.
  let commits = Gate(isOpen: true)
  /// The point at which a read waits.
  let reads = Gate(isOpen: true)
  /// The error of a store that takes no changes, though it answers and passes messages on.
  let refusal = Shared<FleetError?>(nil)
  /// The error with which following is refused.
  let feedRefusal = Shared<FleetError?>(nil)
  /// Counts the times at which every open connection for messages was silenced for good.
  private let silences = Atomic<Int>(0)
  /// The most scopes that a beat has asked for.
  let scopes = Atomic<Int>(0)

  /// Lets the present connection for messages carry nothing any more, without an end.
  func silenceFeed() { silences.wrappingAdd(1, ordering: .relaxed) }

  private func checkWrite() throws(FleetError) {
    try check()
    if let error = refusal.value { throw error }
  }

  init(_ store: MemoryFleetStore) { self.store = store }

  private func check() throws(FleetError) {
    if isAway.load(ordering: .relaxed) { throw .unavailable("away") }
  }

  func read(_ record: FleetRecordID, known: FleetVersion?) async throws(FleetError) -> FleetStoredRecord {
    await reads.waitIgnoringCancellation()
    try check()
    return try await store.read(record, known: known)
  }

  func begin(
    _ record: FleetRecordID, _ wish: FleetLeaseRequest, lease: Duration, retention: Duration
  ) async throws(FleetError) -> FleetLeaseAnswer {
    try checkWrite()
    begins.wrappingAdd(1, ordering: .relaxed)
    return try await store.begin(record, wish, lease: lease, retention: retention)
  }

  func renew(_ ticket: FleetTicket, lease: Duration) async throws(FleetError) -> Bool {
    try checkWrite()
    return try await store.renew(ticket, lease: lease)
  }

  func commit(
    _ ticket: FleetTicket, _ change: FleetChange, retention: Duration
  ) async throws(FleetError) -> FleetCommitResult {
    await commits.waitIgnoringCancellation()
    try checkWrite()
    return try await store.commit(ticket, change, retention: retention)
  }

  func release(_ ticket: FleetTicket, _ reason: FleetRelease) async throws(FleetError) {
    try checkWrite()
    try await store.release(ticket, reason)
  }

  func fence(
    _ url: FleetURLID, removes: Bool, replaying version: FleetVersion?
  ) async throws(FleetError) -> FleetVersion {
    try checkWrite()
    return try await store.fence(url, removes: removes, replaying: version)
  }

  func generation(of scope: String, renews: Bool) async throws(FleetError) -> FleetGeneration {
    try checkWrite()
    return try await store.generation(of: scope, renews: renews)
  }

  func beat(_ node: String, nonce: UInt64, scopes: [String]) async throws(FleetError) -> FleetHeartbeat {
    try check()
    // What it passes on proves nothing.
    let pulse = try await store.beat(node, nonce: nonce, scopes: scopes)
    self.scopes.max(scopes.count, ordering: .relaxed)
    if let error = refusal.value { throw error }
    return pulse
  }

  func follow(_ node: String, _ body: @escaping @Sendable (FleetMessage) -> Void) async throws(FleetError) {
    try check()
    if let error = feedRefusal.value { throw error }
    let silence = silences.load(ordering: .relaxed)
    try await store.follow(node) { [self] message in
      guard silence == silences.load(ordering: .relaxed), !isMute.load(ordering: .relaxed) else { return }
      body(message)
    }
  }

  func nodes() async throws(FleetError) -> Int { try await store.nodes() }
}

/// A clock of a process that was stopped: its time continues, and no timer has fired yet.
final class LeapingClock: Clock {
  private let clock: TestClock
  private let leap = Shared(Duration.zero)
  /// The number of times that ``now`` was read.
  let reads = Shared(0)

  init(_ clock: TestClock) { self.clock = clock }

  /// The wall clock of the process, which leaps too.
  func wallClock() -> Date { clock.wallClock().addingTimeInterval(leap.value / .seconds(1)) }

  func leap(by time: Duration) { leap.change { $0 += time } }

  var now: TestClock.Instant {
    reads.change { $0 += 1 }
    return clock.now.advanced(by: leap.value)
  }
  var minimumResolution: Duration { .zero }
  func sleep(until deadline: TestClock.Instant, tolerance: Duration?) async throws {
    try await clock.sleep(until: deadline.advanced(by: .zero - leap.value), tolerance: tolerance)
  }
}

/// One server of a fleet: a cache, and an origin that the test plays.
final class FleetServer: Sendable {
  let store: UnreliableStore
  let fleet: Fleet
  let cache: ProxyCache
  let persistence: MemoryPersistence
  let clock: TestClock
  private let running: Task<Void, Never>

  /// A store whose leases end by the clock of the test.
  static func store(_ clock: TestClock) -> MemoryFleetStore {
    // No two commands of a store take place in one microsecond.
    let last = Shared<UInt64>(0)
    return MemoryFleetStore {
      let now = UInt64(clock.wallClock().timeIntervalSince1970 * 1_000_000)
      return last.change { last in
        last = max(now, last + 1)
        return last
      }
    }
  }

  /// Starts a server, which follows the others when this returns, unless its store takes no
  /// changes.
  init(
    _ shared: MemoryFleetStore, _ clock: TestClock, rules: CacheRules = .private,
    persistence: MemoryPersistence = MemoryPersistence(), refusal: FleetError? = nil,
    _ configure: (inout FleetConfiguration) -> Void = { _ in }
  ) async {
    store = UnreliableStore(shared)
    store.refusal.change { $0 = refusal }
    self.clock = clock
    var configuration = FleetConfiguration()
    configuration.clock = clock
    configuration.now = clock.wallClock
    configure(&configuration)
    fleet = Fleet(store, configuration: configuration)
    self.persistence = persistence
    cache = ProxyCache(persistence: persistence, fleet: fleet, rules: rules)
    running = Task { [fleet] in try? await fleet.run() }
    await until { $0.fleet.status == (refusal == nil ? .following : .blind) }
  }

  /// Ends the server.
  func stop() async {
    running.cancel()
    await running.value
    #expect(fleet.status == .off)
  }

  /// Waits for what other tasks do, for as many turns as that can take.
  func until(_ condition: (FleetServer) async -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async {
    for _ in 0..<100_000 {
      let (time, sleepers) = (clock.now, clock.sleeperCount)
      if await condition(self) { return }
      await Task.yield()
      if clock.now > time { await settle(sleepers) }
    }
    Issue.record("it has not come to that", sourceLocation: sourceLocation)
  }

  /// Waits until the servers sleep again, so that each beats once before the time continues: on a
  /// busy machine, one would seem dead to the others otherwise. A sleeper may be gone for good.
  private func settle(_ sleepers: Int) async {
    for _ in 0..<10_000 where clock.sleeperCount < sleepers { await Task.yield() }
  }

  static func request(_ method: HTTPRequest.Method = .get, _ fields: HTTPFields = [:], path: String = "/a")
    -> HTTPRequest
  {
    HTTPRequest(method: method, scheme: "https", authority: "api.example.com", path: path, headerFields: fields)
  }

  func plan(
    _ method: HTTPRequest.Method = .get, _ fields: HTTPFields = [:], path: String = "/a", body: Data? = nil
  ) async -> ProxyCache.Plan {
    await cache.plan(for: Self.request(method, fields, path: path), body: body, at: clock.date)
  }

  /// Answers a request that was sent.
  @discardableResult func receive(
    _ body: String, _ exchange: CacheRequest, status: HTTPResponse.Status = .ok,
    _ fields: HTTPFields = [.cacheControl: "max-age=600", .eTag: "\"1\""]
  ) async -> CacheResponse {
    await cache.receive(
      HTTPResponse(status: status, headerFields: fields), body: Data(body.utf8), for: exchange, at: clock.date)
  }

  /// Returns the text of the answer to a GET; `nil` if the server is asked for it.
  func stored(_ fields: HTTPFields = [:], path: String = "/a") async -> String? {
    guard case .answer(let answer) = await plan(.get, fields, path: path) else { return nil }
    return String(decoding: answer.body, as: UTF8.self)
  }

  /// Asks the origin, which answers.
  func ask(
    _ body: String, _ fields: HTTPFields = [.cacheControl: "max-age=600", .eTag: "\"1\""], request: HTTPFields = [:]
  ) async throws {
    guard case .send(let exchange) = await plan(.get, request) else { throw FleetError.wrongData("nothing is sent") }
    await receive(body, exchange, fields)
  }

  /// Makes a change by POST, which the origin accepts.
  func change(path: String = "/a") async throws {
    guard case .send(let exchange) = await plan(.post, path: path) else { throw FleetError.wrongData("not sent") }
    await receive("", exchange, status: .noContent, [:])
  }
}

extension Range<Int> {
  /// Returns the results of `body` for each number, at one time.
  func concurrently<Value: Sendable>(_ body: @escaping @Sendable (Int) async -> Value) async -> [Value] {
    await withTaskGroup(of: Value.self) { group in
      for number in self { group.addTask { await body(number) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }
}
