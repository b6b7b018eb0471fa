import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorFleet
import ReactorTesting
import Synchronization
import Testing

@Suite("Servers with one store", .timeLimit(.minutes(5)))
struct FleetTests {
  private let store: MemoryFleetStore
  private let clock = TestClock()

  init() { store = FleetServer.store(clock) }

  private func pair(
    rules: CacheRules = .private, _ configure: (inout FleetConfiguration) -> Void = { _ in }
  ) async -> (FleetServer, FleetServer) {
    (await FleetServer(store, clock, rules: rules, configure), await FleetServer(store, clock, rules: rules, configure))
  }

  @Test func `one asks, and the other uses its response`() async throws {
    let (one, other) = await pair()
    try await one.ask("hello")
    await other.until { await $0.stored() == "hello" }
    #expect(await one.stored() == "hello")
    guard case .answer(let answer) = await other.plan() else { return #expect(Bool(false), "it asks") }
    #expect(answer.cacheStatus.timeToLive == 600)
    await one.stop()
    await other.stop()
  }

  @Test func `a response to QUERY stays with the server that asked, and is not used after another's change`()
    async throws
  {
    let (one, other) = await pair()
    let fields: HTTPFields = [.contentType: "application/json"]
    func query(_ server: FleetServer) async -> CacheRequest? {
      let plan = await server.plan(.query, fields, body: Data("{}".utf8))
      return if case .send(let exchange) = plan { exchange } else { nil }
    }
    await one.receive("found", try #require(await query(one)))
    #expect(await query(other)?.request.headerFields.contains(.ifNoneMatch) == false)
    try await other.change()
    await one.until { await query($0)?.request.headerFields.contains(.ifNoneMatch) == true }
    await one.stop()
    await other.stop()
  }

  @Test func `a body beyond the limit stays with the server that asked`() async throws {
    let (one, other) = await pair { $0.largestBody = 5 }
    try await one.ask("123456")
    guard case .send = await other.plan() else { return #expect(Bool(false), "the other has it") }
    #expect(await one.stored() == "123456")
    guard case .send(let exchange) = await one.plan(path: "/b") else { return #expect(Bool(false), "nobody asks") }
    await one.receive("12345", exchange)
    await other.until { await $0.stored(path: "/b") == "12345" }
    await one.stop()
    await other.stop()
  }

  @Test func `of two concurrent servers, one sends the request and the other waits for the response`() async throws {
    let (one, other) = await pair()
    guard case .send(let exchange) = await one.plan() else { return #expect(Bool(false), "nobody asks") }
    async let waiting = other.stored()
    await other.until { $0.fleet.statistics.waiting == 1 }
    await one.receive("hello", exchange)
    #expect(await waiting == "hello")
    #expect(other.fleet.statistics.waiting == 0)
    await one.stop()
    await other.stop()
  }

  @Test func `a waiter whose response a change has overtaken sends its own request`() async throws {
    let (one, other) = await pair()
    try await one.ask("old")
    await other.until { await $0.stored() == "old" }
    try await other.change()
    await one.until { await $0.stored() == nil }
    clock.advance(by: .milliseconds(10))
    guard case .send(let first) = await one.plan() else { return #expect(Bool(false), "nobody asks") }
    // It looks while the store has the old body, and waits.
    async let second = one.plan()
    await one.until { $0.fleet.statistics.waiting == 1 }
    try await other.change()
    clock.advance(by: .milliseconds(10))
    await one.receive("new", first, [.cacheControl: "max-age=600", .eTag: "\"2\""])
    guard case .send(let own) = await second else { return #expect(Bool(false), "it uses what was overtaken") }
    #expect(own.request.headerFields[.ifNoneMatch] == "\"2\"")
    await one.receive("", own, status: .notModified, [.cacheControl: "max-age=600", .eTag: "\"2\""])
    await other.until { await $0.stored() == "new" }
    #expect(await one.stored() == "new")
    await one.stop()
    await other.stop()
  }

  @Test func `of many concurrent requests on one server, one asks the store`() async throws {
    let (one, other) = await pair()
    guard case .send(let exchange) = await one.plan() else { return #expect(Bool(false), "nobody asks") }
    let begins = other.store.begins.load(ordering: .relaxed)
    async let waiting = (0..<50).concurrently { _ in await other.stored() }
    // The one that asks the store may do so after the others wait.
    await other.until { $0.fleet.statistics.waiting == 50 && $0.store.begins.load(ordering: .relaxed) > begins }
    #expect(other.store.begins.load(ordering: .relaxed) == begins + 1)
    await one.receive("hello", exchange)
    #expect(await waiting == Array(repeating: "hello", count: 50))
    // A request on the same server is waited for, too.
    guard case .send(let own) = await other.plan(path: "/b") else { return #expect(Bool(false), "nobody asks") }
    async let others = (0..<50).concurrently { _ in await other.stored(path: "/b") }
    await other.until { $0.fleet.statistics.waiting == 50 }
    #expect(other.store.begins.load(ordering: .relaxed) == begins + 2)
    await other.receive("own", own)
    #expect(await others == Array(repeating: "own", count: 50))
    await one.stop()
    await other.stop()
  }

  @Test func `after a response that cannot be stored, the other servers do not wait for each other`() async throws {
    let (one, other) = await pair()
    guard case .send(let exchange) = await one.plan() else { return #expect(Bool(false), "nobody asks") }
    async let waiting = other.plan()
    await other.until { $0.fleet.statistics.waiting == 1 }
    await one.receive("mine", exchange, [.cacheControl: "no-store"])
    guard case .send(let second) = await waiting, case .send(let third) = await one.plan() else {
      return #expect(Bool(false), "one waits")
    }
    await other.receive("mine", second, [.cacheControl: "no-store"])
    await one.receive("mine", third, [.cacheControl: "no-store"])
    await one.stop()
    await other.stop()
  }

  @Test func `a failure is shared for a moment`() async throws {
    let (one, other) = await pair()
    guard case .send(let exchange) = await one.plan() else { return #expect(Bool(false), "nobody asks") }
    async let waiting = other.plan()
    await other.until { $0.fleet.statistics.waiting == 1 }
    await one.receive("", exchange, status: .serviceUnavailable, [:])
    guard case .answer(let answer) = await waiting else { return #expect(Bool(false), "the other asks") }
    #expect(answer.response.status == .badGateway && answer.cacheStatus.detail == "fleet-failed")
    await one.stop()
    await other.stop()
  }

  @Test func `a request without an answer is another server's turn`() async throws {
    let (one, other) = await pair()
    var plan: ProxyCache.Plan? = await one.plan()
    guard case .send = plan else { return #expect(Bool(false), "nobody asks") }
    async let waiting = other.plan()
    await other.until { $0.fleet.statistics.waiting == 1 }
    // Its client is gone.
    plan = nil
    guard case .send(let exchange) = await waiting else { return #expect(Bool(false), "the other does not ask") }
    await other.receive("hello", exchange)
    await one.until { await $0.stored() == "hello" }
    await one.stop()
    await other.stop()
  }

  @Test func `a server that has waited long enough sends its own request`() async throws {
    let (one, other) = await pair()
    guard case .send(let exchange) = await one.plan() else { return #expect(Bool(false), "nobody asks") }
    async let waiting = other.plan()
    await other.until { $0.fleet.statistics.waiting == 1 }
    let time = Task { [clock] in
      while !Task.isCancelled {
        clock.advance(by: .milliseconds(500))
        // The beats are heard meanwhile.
        for _ in 0..<50 { await Task.yield() }
      }
    }
    guard case .send(let second) = await waiting else { return #expect(Bool(false), "it waits") }
    time.cancel()
    await time.value
    await other.receive("second", second)
    await one.receive("first", exchange)
    await one.stop()
    await other.stop()
  }

  @Test func `near its end a response is used, and one server refreshes it for all`() async throws {
    let (one, other) = await pair()
    try await one.ask("old", [.cacheControl: "max-age=10", .eTag: "\"1\""])
    await other.until { await $0.stored() == "old" }
    // Two seconds at a time, in which the beats are heard.
    for _ in 0..<5 {
      clock.advance(by: .milliseconds(1_990))
      try await clock.waitForSleeper(until: clock.now.advanced(by: .seconds(1)))
      for server in [one, other] { await server.until { $0.fleet.status == .following } }
    }
    guard case .answerAndSend(let answer, let exchange) = await one.plan() else {
      return #expect(Bool(false), "it is not refreshed")
    }
    #expect(String(decoding: answer.body, as: UTF8.self) == "old" && answer.cacheStatus.timeToLive == 0)
    // No request waits for it, and no other server asks.
    guard case .answer(let same) = await other.plan() else { return #expect(Bool(false), "the other asks too") }
    #expect(String(decoding: same.body, as: UTF8.self) == "old")
    #expect(exchange.request.headerFields[.ifNoneMatch] == "\"1\"")
    await one.receive("new", exchange, [.cacheControl: "max-age=10", .eTag: "\"2\""])
    for server in [one, other] { await server.until { await $0.stored() == "new" } }
    await one.stop()
    await other.stop()
  }

  @Test func `a change through one is known to the other`() async throws {
    let (one, other) = await pair()
    try await one.ask("old")
    await other.until { await $0.stored() == "old" }
    try await other.change()
    // The server validates it, and has something new.
    guard case .send(let exchange) = await one.plan() else { return #expect(Bool(false), "the old one is used") }
    #expect(exchange.request.headerFields[.ifNoneMatch] == "\"1\"")
    await one.receive("new", exchange, [.cacheControl: "max-age=600", .eTag: "\"2\""])
    await other.until { await $0.stored() == "new" }
    await one.stop()
    await other.stop()
  }

  @Test func `a 304 makes a record fresh for all, without its body`() async throws {
    let (one, other) = await pair()
    try await one.ask("old")
    await other.until { await $0.stored() == "old" }
    try await other.change()
    guard case .send(let exchange) = await one.plan() else { return #expect(Bool(false), "the old one is used") }
    await one.receive("", exchange, status: .notModified, [.cacheControl: "max-age=600", .eTag: "\"1\""])
    await other.until { await $0.stored() == "old" }
    #expect(await one.stored() == "old")
    await one.stop()
    await other.stop()
  }

  @Test func `a response from before a change serves no request, however late it arrives`() async throws {
    let (one, other) = await pair()
    guard case .send(let exchange) = await one.plan() else { return #expect(Bool(false), "nobody asks") }
    try await other.change()
    await one.receive("old", exchange)
    for server in [one, other] {
      guard case .send(let own) = await server.plan() else { return #expect(Bool(false), "the old one is used") }
      withExtendedLifetime(own) {}
    }
    await one.stop()
    await other.stop()
  }

  @Test func `a removal of everything concerns all`() async throws {
    let (one, other) = await pair()
    try await one.ask("old")
    await other.until { await $0.stored() == "old" }
    try await other.cache.removeAll(in: .shared)
    #expect(await one.stored() == nil)
    #expect(await other.stored() == nil)
    await one.stop()
    await other.stop()
  }

  @Test func `a change through one makes stale what the other has of a user, and keeps to itself`() async throws {
    let (one, other) = await pair()
    let user: HTTPFields = [.authorization: "Bearer secret"]
    try await one.ask("mine", request: user)
    #expect(await one.stored(user) == "mine")
    #expect(store.isEmpty)
    try await other.change()
    await one.until { await $0.stored(user) == nil }
    await one.stop()
    await other.stop()
  }

  @Test func `a response that was requested without a ticket does not outlive a change by another`() async throws {
    let (one, other) = await pair()
    one.store.isAway.store(true, ordering: .relaxed)
    guard case .send(let exchange) = await one.plan() else { return #expect(Bool(false), "it does not ask") }
    one.store.isAway.store(false, ordering: .relaxed)
    #expect(one.fleet.status == .following)
    try await other.change()
    await one.receive("old", exchange)
    #expect(await one.stored() == nil)
    await one.stop()
    await other.stop()
  }

  @Test func `equal requests of one server do not overtake each other's answer`() async throws {
    let (one, other) = await pair()
    try await one.ask("hello")
    await other.until { await $0.stored() == "hello" }
    try await other.change()
    guard case .send(let exchange) = await other.plan() else { return #expect(Bool(false), "nobody asks") }
    async let second = other.stored()
    await other.until { $0.fleet.statistics.waiting == 1 }
    let answer = await other.receive("", exchange, status: .notModified)
    #expect(answer.isStored)
    #expect(await second == "hello")
    await one.stop()
    await other.stop()
  }

  @Test(arguments: [HTTPField.Name.authorization, .cookie])
  func `nothing of a request with credentials leaves the process`(name: HTTPField.Name) async throws {
    let (one, other) = await pair()
    try await one.ask("secret", request: [name: "Bearer 1"])
    #expect(await other.stored([name: "Bearer 1"]) == nil)
    #expect(store.isEmpty)
    await one.stop()
    await other.stop()
  }

  @Test func `a URL with a secret is not shared`() async throws {
    let (one, other) = await pair()
    guard case .send(let exchange) = await one.plan(path: "/a?api_key=1") else { return #expect(Bool(false)) }
    await one.receive("secret", exchange)
    #expect(await other.stored(path: "/a?api_key=1") == nil)
    #expect(store.isEmpty)
    await one.stop()
    await other.stop()
  }

  @Test func `variants are apart, and each is shared`() async throws {
    let (one, other) = await pair()
    let fields: HTTPFields = [.cacheControl: "max-age=600", .vary: "Accept-Language"]
    for language in ["en", "de"] {
      guard case .send(let exchange) = await one.plan(.get, [.acceptLanguage: language]) else {
        return #expect(Bool(false), "\(language) is not asked for")
      }
      await one.receive(language, exchange, fields)
      await other.until { await $0.stored([.acceptLanguage: language]) == language }
    }
    #expect(await other.stored([.acceptLanguage: "en"]) == "en")
    await one.stop()
    await other.stop()
  }

  @Test func `before a fleet runs and after it, its server acts as without one`() async throws {
    let (one, other) = await pair()
    await one.stop()
    try await one.ask("mine")
    #expect(await one.stored() == "mine")
    #expect(await other.stored() == nil)
    await other.stop()
  }

  @Test func `a server that starts uses what the others have, and its own copies after a look`() async throws {
    let (one, other) = await pair()
    try await one.ask("hello")
    await other.until { await $0.stored() == "hello" }
    await one.stop()
    let again = await FleetServer(store, clock, persistence: one.persistence)
    #expect(await again.stored() == "hello")
    try await other.change()
    await again.stop()
    let third = await FleetServer(store, clock, persistence: one.persistence)
    #expect(await third.stored() == nil)
    await third.stop()
    await other.stop()
  }

  @Test func `a comparison of a copy is counted by what it finds`() async throws {
    let (one, other) = await pair()
    try await one.ask("hello")
    await other.until { await $0.stored() == "hello" }
    await one.stop()
    func counts(_ server: FleetServer) -> [Int] {
      let checks = server.fleet.statistics.checks
      return [checks.unchanged, checks.changed, checks.missing, checks.unreachable]
    }
    func checks(_ store: MemoryFleetStore, isAway: Bool = false) async -> [Int] {
      let server = await FleetServer(store, clock, persistence: one.persistence)
      server.store.isAway.store(isAway, ordering: .relaxed)
      _ = await server.stored()
      await server.stop()
      return counts(server)
    }
    #expect(counts(one) == [0, 0, 0, 0])
    #expect(await checks(store) == [1, 0, 0, 0])
    #expect(await checks(FleetServer.store(clock)) == [0, 0, 1, 0])
    #expect(await checks(store, isAway: true) == [0, 0, 0, 1])
    try await other.change()
    #expect(await checks(store) == [0, 1, 0, 0])
    await other.stop()
  }

  @Test func `a stale response is revalidated by one, and used by all meanwhile`() async throws {
    let (one, other) = await pair()
    try await one.ask("old", [.cacheControl: "max-age=1, stale-while-revalidate=600", .eTag: "\"1\""])
    await other.until { await $0.stored() == "old" }
    clock.advance(by: .seconds(1))
    guard case .answerAndSend(_, let exchange) = await one.plan() else { return #expect(Bool(false), "nobody asks") }
    #expect(await other.stored() == "old")
    await one.receive("new", exchange)
    await other.until { await $0.stored() == "new" }
    await one.stop()
    await other.stop()
  }
}
