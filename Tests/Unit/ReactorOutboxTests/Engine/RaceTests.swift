import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorOutbox

/// A mutation whose request is made when a gate opens.
private struct Overtaken: Mutation {
  static let gate = Gate()

  func request(_ known: Known) async throws -> Resource {
    try await Self.gate.wait()
    return Resource("prepared", method: .post)
  }
}

/// Another one, so that each test has its own gate.
private struct Kept: Mutation {
  static let gate = Gate()

  func request(_ known: Known) async throws -> Resource {
    try await Self.gate.wait()
    return Resource("prepared", method: .post)
  }
}

/// A mutation whose first request cannot be made, and that says so when a gate opens.
private struct Hesitant: Mutation {
  static let gate = Gate()
  static let isFirst = Atomic<Bool>(true)

  func request(_ known: Known) async throws -> Resource {
    guard Self.isFirst.exchange(false, ordering: .relaxed) else { return Resource("hesitant", method: .post) }
    try await Self.gate.wait()
    throw CocoaError(.coderInvalidValue)
  }

  func draft(_ drafts: inout Drafts) { drafts.change([String].self, at: "list") { $0.append("x") } }
}

@Suite("What overtakes an entry", .timeLimit(.minutes(5)))
struct RaceTests {
  @Test func `an entry that is missing while everything is removed was not finished elsewhere`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store, scope: "alice") { $0.sendsByItself = false }
    let submission = try await writer.layer.submit(Add(name: "b"))
    let next = store.removals.closed()
    async let signedOut: Void = writer.layer.signOut()
    try await store.removals.waitForArrival(count: next)
    try await store.reopened().removeAll(in: "alice")
    try await writer.outbox.reload()
    #expect(writer.states.count == 1)
    store.removals.open()
    try await signedOut
    guard case .cancelled = await TestSupport.error({ try await submission.answer() }) else {
      return #expect(Bool(false), "it has ended elsewhere")
    }
    #expect(writer.states.isEmpty)
    try await writer.end()
  }

  @Test func `an earlier entry of another process is found before a later one is prepared`() async throws {
    let store = MemoryStore()
    let one = Writer(storage: store) { $0.sendsByItself = false }
    let other = Writer(storage: store.reopened(), on: one.bench) { $0.sendsByItself = false }
    try await other.outbox.reload()
    try await one.layer.submit(Add(name: "a"))
    try await other.layer.submit(Overtaken())
    one.transport.answer("/v1/a", with: accepted)
    one.transport.answer("/v1/prepared", with: accepted)
    async let left = other.outbox.drain(within: .seconds(10))
    try await Overtaken.gate.waitForArrival()
    #expect(other.states == ["sending"] && one.sent == ["POST /v1/a a"])
    Overtaken.gate.open()
    #expect(await left == 0)
    #expect(one.sent == ["POST /v1/a a", "POST /v1/prepared "])
    try await one.outbox.reload()
    try await one.end()
  }

  @Test func `a request that cannot be made does not undo what the other has sent meanwhile`() async throws {
    let store = MemoryStore()
    let one = Writer(storage: store) { configuration in
      configuration.sendsByItself = false
      configuration.mutations.append(Hesitant.self)
    }
    try await one.fetch("a")
    let submission = try await one.layer.submit(Hesitant())
    let other = Writer(storage: store.reopened(), on: one.bench) { configuration in
      configuration.sendsByItself = false
      configuration.mutations.append(Hesitant.self)
    }
    async let left = one.outbox.drain(within: .seconds(1000))
    try await Hesitant.gate.waitForArrival()
    // It was suspended, and could not renew its lease.
    _ = store.claims.closed()
    one.clock.advance(by: .seconds(600))
    one.transport.answer("/v1/hesitant", with: accepted)
    #expect(await other.outbox.drain(within: .seconds(10)) == 0)
    Hesitant.gate.open()
    store.claims.open()
    #expect(await left == 0)
    #expect(one.sent.count == 1 && one.states.isEmpty)
    #expect(await TestSupport.error { try await submission.answer() } != nil)
    #expect(one.confirmed == ["a", "x"])
    try await other.outbox.reload()
    #expect(other.states.isEmpty)
    try await one.end()
  }

  @Test func `a withdrawal fails that waits while another process ends the entry`() async throws {
    let store = MemoryStore()
    let one = Writer(storage: store) { $0.sendsByItself = false }
    let id = try await one.layer.submit(Add(name: "a")).id
    let other = Writer(storage: store.reopened(), on: one.bench) { $0.sendsByItself = false }
    one.transport.answer("/v1/a", with: refused)
    let next = store.claims.closed()
    async let left = one.outbox.drain(within: .seconds(10))
    try await store.claims.waitForArrival(count: next)
    async let isWithdrawn = one.outbox.withdraw(id)
    await yield()
    #expect(await other.outbox.drain(within: .seconds(10)) == 1)
    #expect(await other.outbox.discard(id))
    store.claims.open()
    #expect(await !isWithdrawn)
    #expect(await left == 0)
    #expect(one.sent.count == 1 && one.states.isEmpty)
    try await one.end()
  }

  /// The accepted creation is in the store for ten minutes, and what the answer has not given for
  /// longer.
  @Test(arguments: [0, 601])
  func `the next process does not send an id that will never arrive`(seconds: Int) async throws {
    let writer = Writer(storage: MemoryStore())
    writer.transport.answer("/v1/items", with: .json("{"))
    let add = AddItem(name: "x")
    let created = try await writer.layer.submit(add)
    await #expect(throws: ReactorError.self) { try await created.answer() }
    writer.outbox.pause()
    try await writer.layer.submit(RenameItem(id: add.id.int, name: "y"))
    writer.clock.advance(by: .seconds(seconds))
    let next = writer.relaunched()
    await next.wait(for: "refused")
    #expect(next.sent.count == 1)
    #expect(next.outbox.identity(of: add.id) == nil)
    try await next.end()
  }

  @Test func `a removal that fails leaves the drafts shown`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store, scope: "alice") { $0.sendsByItself = false }
    try await writer.layer.submit(Add(name: "b"))
    store.failsToRemove.store(true, ordering: .relaxed)
    await #expect(throws: ReactorError.self) { try await writer.layer.removeAll() }
    #expect(writer.states == ["waiting, turn"])
    try await writer.fetch("a")
    #expect(writer.shown == ["a", "b"])
    writer.transport.answer("/v1/b", with: .json("\"done\""))
    #expect(await writer.outbox.drain(within: .seconds(10)) == 0)
    #expect(writer.confirmed == ["a", "b"])
    try await writer.end()
  }

  @Test func `a removal that fails leaves what was about to be sent`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store, scope: "alice")
    writer.transport.answer("/v1/prepared", with: accepted)
    try await writer.layer.submit(Kept())
    try await Kept.gate.waitForArrival()
    let next = store.removals.closed()
    async let error = TestSupport.error { try await writer.layer.removeAll() }
    try await store.removals.waitForArrival(count: next)
    Kept.gate.open()
    await yield()
    #expect(writer.sent.isEmpty)
    store.failsToRemove.store(true, ordering: .relaxed)
    store.removals.open()
    #expect(await error != nil)
    await writer.wait()
    #expect(writer.sent == ["POST /v1/prepared "])
    try await writer.end()
  }

  @Test func `an entry that is being saved shows the server's ids`() async throws {
    let add = AddItem(name: "x")
    let store = MemoryStore()
    let one = Writer(storage: store) { $0.sendsByItself = false }
    try await one.layer.submit(add)
    let shared = store.reopened()
    let other = Writer(storage: shared, on: one.bench) { $0.sendsByItself = false }
    other.transport.answer("/v1/items", with: .json("[]", fields: [.cacheControl: "max-age=600"]))
    let items: Reactor<[Item]> = other.layer.reactor()
    _ = try await items.fetch("items")
    let next = shared.commits.closed()
    async let renamed = other.layer.submit(RenameItem(id: add.id.int, name: "y"))
    try await shared.commits.waitForArrival(count: next)
    #expect(items.cached("items") == [Item(id: add.id.int, name: "y")])
    one.transport.answer("/v1/items", with: .json(#"{"id":7,"name":"x"}"#))
    #expect(await one.outbox.drain(within: .seconds(10)) == 0)
    try await other.outbox.reload()
    #expect(items.cached("items") == [Item(id: 7, name: "y")])
    shared.commits.open()
    _ = try await renamed
    other.transport.answer("/v1/items/7", with: accepted)
    #expect(await other.outbox.drain(within: .seconds(10)) == 0)
    #expect(one.sent.last == #"PATCH /v1/items/7 {"name":"y"}"#)
    #expect(items.cached("items") == [Item(id: 7, name: "y")])
    try await one.end()
  }
}
