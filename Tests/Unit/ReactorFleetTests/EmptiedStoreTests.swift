import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorFleet
import ReactorTesting
import Synchronization
import Testing

/// A store that was emptied has other generations, and with them each URL has another name. Each
/// server learns them with its next beat.
@Suite("A store that was emptied", .timeLimit(.minutes(5)))
struct EmptiedStoreTests {
  private let store: MemoryFleetStore
  private let clock = TestClock()

  init() { store = FleetServer.store(clock) }

  private func pair() async -> (FleetServer, FleetServer) {
    (await FleetServer(store, clock), await FleetServer(store, clock))
  }

  /// The URL's id of a server, which is another one after the store was emptied.
  private func id(_ server: FleetServer) -> FleetURLID? {
    server.fleet.knownID(of: "https://api.example.com/a", in: .shared)
  }

  @Test func `a response that was requested before an emptied store was found out is compared before its use`()
    async throws
  {
    let (one, other) = await pair()
    try await one.ask("oldest")
    store.removeAll()
    let old = id(one)
    guard case .send(let exchange) = await one.plan(.get, [.cacheControl: "no-cache"]) else {
      return #expect(Bool(false), "nobody asks")
    }
    clock.advance(by: .seconds(1))
    for server in [one, other] { await server.until { id($0) != nil && id($0) != old } }
    await one.receive("old", exchange)
    try await other.change()
    guard case .send(let next) = await one.plan() else { return #expect(Bool(false), "the old one is used") }
    await one.receive("new", next, [.cacheControl: "max-age=600", .eTag: "\"2\""])
    await other.until { await $0.stored() == "new" }
    await one.stop()
    await other.stop()
  }

  @Test func `a change that went to an emptied store under an old name is announced again`() async throws {
    let (one, other) = await pair()
    try await one.ask("oldest")
    let old = id(one)
    store.removeAll()
    one.store.isAway.store(true, ordering: .relaxed)
    clock.advance(by: .seconds(1))
    await other.until { id($0) != nil && id($0) != old }
    try await other.ask("old")
    one.store.isAway.store(false, ordering: .relaxed)
    #expect(id(one) == old)
    try await one.change()
    #expect(await other.stored() == "old")
    clock.advance(by: .seconds(1))
    await other.until { await $0.stored() == nil }
    await one.stop()
    await other.stop()
  }
}
