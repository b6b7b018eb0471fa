import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorFleet
import ReactorTesting
import Synchronization
import Testing

/// Servers that do not hear each other, or have no store.
@Suite("Servers whose store is away", .timeLimit(.minutes(5)))
struct AbsentStoreTests {
  private let store: MemoryFleetStore
  private let clock = TestClock()

  init() { store = FleetServer.store(clock) }

  private func pair() async -> (FleetServer, FleetServer) {
    (await FleetServer(store, clock), await FleetServer(store, clock))
  }

  @Test func `a server that has missed messages compares its copies before it uses them`() async throws {
    let (one, other) = await pair()
    try await one.ask("old")
    await other.until { await $0.stored() == "old" }
    one.store.isMute.store(true, ordering: .relaxed)
    try await other.change()
    // It does not know yet.
    #expect(await one.stored() == "old")
    await one.until { server in
      clock.advance(by: .seconds(1))
      return server.fleet.status == .blind
    }
    one.store.isMute.store(false, ordering: .relaxed)
    await one.until { server in
      clock.advance(by: .seconds(1))
      return server.fleet.status == .following
    }
    #expect(await one.stored() == nil)
    await one.stop()
    await other.stop()
  }

  @Test func `a change that the store did not take is announced with the next beat`()
    async throws
  {
    let (one, other) = await pair()
    try await one.ask("old")
    await other.until { await $0.stored() == "old" }
    other.store.isAway.store(true, ordering: .relaxed)
    try await other.change()
    other.store.isAway.store(false, ordering: .relaxed)
    #expect(other.fleet.statistics.pendingInvalidations == 1 && other.fleet.status == .following)
    #expect(await one.stored() == "old")
    await other.until { server in
      clock.advance(by: .milliseconds(100))
      return server.fleet.statistics.pendingInvalidations == 0
    }
    await one.until { await $0.stored() == nil }
    await one.stop()
    await other.stop()
  }

  @Test func `without the store, each server contacts the origin, and announces its changes later`() async throws {
    let (one, other) = await pair()
    try await one.ask("old")
    await other.until { await $0.stored() == "old" }
    for server in [one, other] { server.store.isAway.store(true, ordering: .relaxed) }
    // For a while it is as it was.
    #expect(await one.stored() == "old")
    await one.until { server in
      clock.advance(by: .seconds(1))
      return server.fleet.status == .alone && other.fleet.status == .alone
    }
    // The origin decides, once.
    guard case .send(let exchange) = await one.plan() else { return #expect(Bool(false), "it is used") }
    await one.receive("", exchange, status: .notModified, [.cacheControl: "max-age=600", .eTag: "\"1\""])
    #expect(await one.stored() == "old")
    try await one.change()
    #expect(one.fleet.statistics.pendingInvalidations == 1)
    #expect(await one.stored() == nil)
    for server in [one, other] { server.store.isAway.store(false, ordering: .relaxed) }
    await one.until { server in
      clock.advance(by: .seconds(1))
      return server.fleet.statistics.pendingInvalidations == 0 && other.fleet.status == .following
    }
    #expect(await other.stored() == nil)
    await one.stop()
    await other.stop()
  }

  @Test func `a response that came while the store was away is not replaced by an older one of the store`()
    async throws
  {
    let (one, other) = await pair()
    try await one.ask("old")
    await other.until { await $0.stored() == "old" }
    one.store.isAway.store(true, ordering: .relaxed)
    await one.until { server in
      clock.advance(by: .seconds(1))
      return server.fleet.status == .alone
    }
    try await one.ask("new", [.cacheControl: "max-age=600", .eTag: "\"2\""])
    #expect(await one.stored() == "new")
    one.store.isAway.store(false, ordering: .relaxed)
    await one.until { server in
      clock.advance(by: .seconds(1))
      return server.fleet.status == .following
    }
    // Another server may have got a newer response, so the origin decides.
    guard case .send(let exchange) = await one.plan() else { return #expect(Bool(false), "it is used") }
    await one.receive("", exchange, status: .notModified, [.cacheControl: "max-age=600", .eTag: "\"2\""])
    await other.until { await $0.stored() == "new" }
    #expect(await one.stored() == "new")
    await one.stop()
    await other.stop()
  }

  @Test func `a removal of everything while the store is away is made up for`() async throws {
    let (one, other) = await pair()
    try await one.ask("old")
    await other.until { await $0.stored() == "old" }
    one.store.isAway.store(true, ordering: .relaxed)
    try await one.cache.removeAll(in: .shared)
    #expect(await one.stored() == nil)
    #expect(await other.stored() == "old")
    one.store.isAway.store(false, ordering: .relaxed)
    await other.until { server in
      clock.advance(by: .seconds(1))
      return await server.stored() == nil
    }
    #expect(await one.stored() == nil)
    await one.stop()
    await other.stop()
  }
}
