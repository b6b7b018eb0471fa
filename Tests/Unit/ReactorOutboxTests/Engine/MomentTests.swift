import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

/// A mutation whose request is made when a gate opens.
private struct Prepared: Mutation {
  static let gate = Gate()

  func request(_ known: Known) async throws -> Resource {
    try await Self.gate.wait()
    return Resource("prepared", method: .post)
  }
}

/// A creation without a draft, whose request has its own key.
private struct Create: Mutation {
  typealias Answer = Item

  var id = TemporaryID()

  func request(_ known: Known) throws -> Resource {
    var request = Resource("items", method: .post)
    request.idempotencyKey = "mine"
    return request
  }

  func settle(_ item: Item, _ settlement: inout Settlement) { settlement.identify(id, as: item.id) }
}

/// Lets the tasks that can continue do so.
func yield() async {
  for _ in 0..<100 { await Task.yield() }
}

@Suite("What happens to an entry between two steps", .timeLimit(.minutes(5)))
struct MomentTests {
  @Test func `the end of an attempt is not shown before it is saved`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    let gate = Gate()
    writer.transport.answer("/v1/b", with: refused.held(at: gate))
    try await writer.layer.submit(Add(name: "b"))
    try await gate.waitForArrival()
    let next = store.commits.closed()
    gate.open()
    try await store.commits.waitForArrival(count: next)
    #expect(writer.states == ["sending"])
    store.commits.open()
    await writer.wait(for: "refused")
    try await writer.end()
  }

  @Test func `an entry that may have arrived is not withdrawn while it is prepared again`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    writer.transport.answer("/v1/b", with: .failure(URLError(.networkConnectionLost)), accepted)
    let submission = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "unknown, backoff")
    let next = store.commits.closed()
    writer.clock.advance(by: .seconds(600))
    try await store.commits.waitForArrival(count: next)
    async let isWithdrawn = writer.outbox.withdraw(submission.id)
    await yield()
    store.commits.open()
    #expect(await !isWithdrawn)
    await writer.wait()
    #expect(writer.sent.count == 2)
    try await writer.end()
  }

  @Test func `a pause keeps back what is being prepared`() async throws {
    let writer = Writer()
    writer.transport.answer("/v1/prepared", with: accepted)
    try await writer.layer.submit(Prepared())
    try await Prepared.gate.waitForArrival()
    writer.outbox.pause()
    Prepared.gate.open()
    while writer.states == ["sending"] { await Task.yield() }
    #expect(writer.states == ["waiting, paused"])
    #expect(writer.sent.isEmpty && writer.outbox.entries.map(\.attempts) == [0])
    writer.outbox.resume()
    await writer.wait()
    #expect(writer.sent.count == 1)
    try await writer.end()
  }

  @Test func `a store that hangs delays a fetch only for the budget of the persistence`() async throws {
    let store = MemoryStore()
    let next = store.reads.closed()
    let writer = Writer(storage: store, configuring: { $0.persistenceBudget = .seconds(2) })
    try await store.reads.waitForArrival(count: next)
    writer.transport.answer("/v1/list", with: Writer.answer(["a"]))
    let deadline = writer.clock.now.advanced(by: .seconds(2))
    async let fetched = writer.notes.fetch(writer.list)
    try await writer.clock.waitForSleeper(until: deadline)
    writer.clock.advance(by: .seconds(2))
    #expect(try await fetched == ["a"])
    store.reads.open()
    try await writer.end()
  }

  @Test func `an entry that is withdrawn while the store is read does not come back`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store) { $0.sendsByItself = false }
    let submission = try await writer.layer.submit(Add(name: "b"))
    try await writer.outbox.reload()
    let next = store.reads.closed()
    async let reloaded = writer.outbox.reload()
    try await store.reads.waitForArrival(count: next)
    #expect(await writer.outbox.withdraw(submission.id))
    store.reads.open()
    _ = try await reloaded
    #expect(writer.outbox.entries.isEmpty)
    try await writer.end()
  }

  @Test func `the removal of everything ends what is being sent before it waits for the store`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store, scope: "alice")
    let gate = Gate()
    writer.transport.answer("/v1/b", with: accepted.held(at: gate))
    try await writer.layer.submit(Add(name: "b"))
    try await gate.waitForArrival()
    let next = store.removals.closed()
    let signedOut = Task { try await writer.layer.signOut() }
    try await store.removals.waitForArrival(count: next)
    try await writer.transport.waitUntilIdle()
    store.removals.open()
    try await signedOut.value
    gate.open()
    #expect(writer.outbox.entries.isEmpty)
    try await writer.end()
  }

  @Test func `nothing is sent while everything is being removed`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store, scope: "alice")
    writer.transport.answer("/v1/b", with: accepted)
    writer.outbox.pause()
    try await writer.layer.submit(Add(name: "b"))
    let (saved, removed) = (store.commits.closed(), store.removals.closed())
    writer.outbox.resume()
    try await store.commits.waitForArrival(count: saved)
    let signedOut = Task { try await writer.layer.signOut() }
    await yield()
    store.commits.open()
    try await store.removals.waitForArrival(count: removed)
    await yield()
    #expect(writer.sent.isEmpty)
    store.removals.open()
    try await signedOut.value
    #expect(writer.sent.isEmpty)
    try await writer.end()
  }

  @Test func `an answer that comes while everything is being removed leaves nothing in the store`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store, scope: "alice")
    let gate = Gate()
    writer.transport.answer(
      "/v1/items", with: .json(#"{"id":7,"name":"x"}"#).held(at: gate, ignoresCancellation: true))
    try await writer.layer.submit(Create())
    try await gate.waitForArrival()
    let next = store.removals.closed()
    let signedOut = Task { try await writer.layer.signOut() }
    try await store.removals.waitForArrival(count: next)
    gate.open()
    try await writer.transport.waitUntilIdle()
    await yield()
    store.removals.open()
    try await signedOut.value
    await yield()
    #expect(try await store.contents(of: "alice") == OutboxContents())
    try await writer.end()
  }
}

@Suite("The place of an entry, and the ids of the server", .timeLimit(.minutes(5)))
struct PlaceTests {
  @Test func `a retried entry goes to the end of its lane`() async throws {
    let writer = Writer()
    writer.transport.answer("/v1/b", with: refused, accepted)
    writer.transport.answer("/v1/c", with: accepted)
    let first = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "refused")
    writer.outbox.pause()
    let second = try await writer.layer.submit(Add(name: "c"))
    #expect(await writer.outbox.retry(first.id))
    #expect(writer.outbox.entries.map(\.id) == [second.id, first.id])
    writer.outbox.resume()
    await writer.wait()
    #expect(writer.sent == ["POST /v1/b b", "POST /v1/c c", "POST /v1/b b"])
    try await writer.end()
  }

  @Test func `an entry that waits for a retried entry's id follows it`() async throws {
    let writer = Writer { $0.idempotencyWindow = .zero }
    writer.transport.answer(
      "/v1/items", with: .failure(URLError(.networkConnectionLost)), .json(#"{"id":7,"name":"x"}"#))
    writer.transport.answer("/v1/items/7", with: .json(#"{"id":7,"name":"y"}"#))
    let add = AddItem(name: "x")
    let created = try await writer.layer.submit(add)
    await writer.wait(for: "unresolved")
    let renamed = try await writer.layer.submit(RenameItem(id: add.id.int, name: "y"))
    await writer.wait(for: "unresolved", "waiting, identity")
    writer.outbox.pause()
    #expect(await writer.outbox.retry(created.id))
    #expect(writer.outbox.entries.map(\.id) == [created.id, renamed.id])
    writer.outbox.resume()
    await writer.wait()
    #expect(writer.sent.last == #"PATCH /v1/items/7 {"name":"y"}"#)
    try await writer.end()
  }

  @Test func `no more lanes send than may, and the next begins when one stands still`() async throws {
    let writer = Writer { $0.concurrentLanes = 1 }
    let gate = Gate()
    writer.transport.answer("/v1/a", with: accepted.held(at: gate))
    writer.transport.answer("/v1/x", with: accepted.held(at: gate))
    try await writer.layer.submit(Add(name: "a"))
    try await gate.waitForArrival()
    try await writer.layer.submit(Add(name: "x", lane: "other"))
    await yield()
    #expect(writer.sent.count == 1)
    gate.open()
    await writer.wait()
    #expect(writer.sent == ["POST /v1/a a", "POST /v1/x x"])
    try await writer.end()
  }

  @Test func `an id of the server is saved, alone and in the entries that hold it`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    let gate = Gate()
    writer.transport.answer("/v1/items", with: .json(#"{"id":7,"name":"x"}"#).held(at: gate))
    let add = AddItem(name: "x")
    let created = try await writer.layer.submit(add)
    let renamed = try await writer.layer.submit(RenameItem(id: add.id.int, name: "y"))
    try await gate.waitForArrival()
    writer.outbox.pause()
    gate.open()
    _ = try await created.answer()
    let contents = try await store.contents(of: .shared)
    #expect(contents.identities == [add.id.string: Data("7".utf8)])
    let stored = try #require(contents.entries.first { $0.id == renamed.id })
    #expect(try String(decoding: OutboxEntry(decoding: stored).arguments, as: UTF8.self).contains(#""id":7"#))
    #expect(await writer.outbox.withdraw(renamed.id))
    try await writer.end()
  }

  @Test func `the ids of the server go with everything else`() async throws {
    let writer = Writer(scope: "alice")
    writer.transport.answer("/v1/items", with: .json(#"{"id":7,"name":"x"}"#))
    let create = Create()
    _ = try await writer.layer.submit(create).answer()
    #expect(writer.outbox.identity(of: create.id) == .integer(7))
    #expect(writer.keys == ["mine"])
    try await writer.layer.signOut()
    #expect(writer.outbox.identity(of: create.id) == nil)
    try await writer.end()
  }
}
