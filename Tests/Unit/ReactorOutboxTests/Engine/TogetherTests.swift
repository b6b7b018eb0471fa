import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@Suite("Two processes with one outbox", .timeLimit(.minutes(5)))
struct TogetherTests {
  /// Both have read the store, and neither sends by itself.
  private func pair(_ prepare: (Writer) async throws -> Void) async throws -> (Writer, Writer) {
    let store = MemoryStore()
    let one = Writer(storage: store) { $0.sendsByItself = false }
    try await prepare(one)
    let other = Writer(storage: store.reopened(), on: one.bench) { $0.sendsByItself = false }
    try await other.outbox.reload()
    return (one, other)
  }

  @Test func `one finds what the other has added, and shows it`() async throws {
    let (one, other) = try await pair { _ in }
    try await other.fetch("a")
    let submission = try await one.layer.submit(Add(name: "b"))
    #expect(other.outbox.entries.isEmpty && other.shown == ["a"])
    try await other.outbox.reload()
    #expect(other.outbox.entries.map(\.id) == [submission.id] && other.shown == ["a", "b"])
    try await one.end()
  }

  @Test func `a move by the other process while the store could not be read is known before sending`()
    async throws
  {
    let store = MemoryStore()
    store.readsLeft.store(0, ordering: .relaxed)
    let one = Writer(storage: store) { $0.idempotencyWindow = .zero }
    let add = AddItem(name: "x")
    let created = try await one.layer.submit(add)
    try await one.layer.submit(RenameItem(id: add.id.int, name: "y"))
    let other = Writer(storage: store.reopened(), on: one.bench) {
      $0.sendsByItself = false
      $0.idempotencyWindow = .zero
    }
    try await other.outbox.reload()
    let lost = ScriptedTransport.Answer.failure(URLError(.networkConnectionLost))
    one.transport.answer("/v1/items", with: lost, lost)
    #expect(await other.outbox.drain(within: .seconds(10)) > 0)
    // It goes to the end with what waits for it.
    #expect(await other.outbox.retry(created.id))
    #expect(await other.outbox.drain(within: .seconds(10)) > 0)
    try await other.layer.submit(Add(name: "b"))
    try await one.clock.waitForSleeper(until: one.clock.now.advanced(by: .seconds(5)))
    // And not a second time, to look what else has changed.
    store.readsLeft.store(1, ordering: .relaxed)
    one.clock.advance(by: .seconds(5))
    await one.wait(for: "unresolved", "waiting, identity", "waiting, turn")
    await yield()
    #expect(one.sent.count == 2 && !one.sent.contains("POST /v1/b b"))
    one.outbox.pause()
    try await one.end()
  }

  @Test(arguments: [false, true])
  func `an entry that is withdrawn during the other's changes does not come back`(
    isReadAgainMeanwhile: Bool
  ) async throws {
    let persistence = FaultyPersistence()
    let store = MemoryStore()
    let one = Writer(storage: store, on: Bench(persistence: persistence)) { $0.sendsByItself = false }
    try await one.fetch("a")
    let kept = try await one.layer.submit(Add(name: "b"))
    let gone = try await one.layer.submit(Add(name: "c"))
    let other = Writer(storage: store.reopened(), on: one.bench) { $0.sendsByItself = false }
    try await other.outbox.reload()
    #expect(await other.outbox.withdraw(gone.id))
    // The store is read with `b`. That `c` is gone takes an access to the disk.
    let gate = persistence.hold(.load)
    let reload = Task { try await one.outbox.reload() }
    try await gate.reached()
    #expect(await one.outbox.withdraw(kept.id))
    if isReadAgainMeanwhile { try await one.outbox.reload() }
    gate.open()
    _ = try await reload.value
    #expect(one.outbox.entries.isEmpty && one.shown?.contains("b") == false)
    #expect(try await store.contents(of: .shared).entries.isEmpty)
    try await one.end()
  }

  @Test func `a drain sends also what the other adds meanwhile`() async throws {
    let (one, other) = try await pair { try await $0.layer.submit(Add(name: "a")) }
    let gate = Gate()
    one.transport.answer("/v1/a", with: accepted.held(at: gate))
    one.transport.answer("/v1/b", with: accepted)
    async let left = other.outbox.drain(within: .seconds(10))
    try await gate.waitForArrival()
    try await one.layer.submit(Add(name: "b"))
    gate.open()
    #expect(await left == 0)
    #expect(one.sent == ["POST /v1/a a", "POST /v1/b b"])
    try await one.outbox.reload()
    #expect(one.outbox.entries.isEmpty)
    try await one.end()
  }

  @Test func `one respects the backoff that the other was given`() async throws {
    let (one, other) = try await pair { try await $0.layer.submit(Add(name: "a")) }
    one.transport.answer("/v1/a", with: .response(.serviceUnavailable, fields: [.retryAfter: "60"]), accepted)
    #expect(await one.outbox.drain(within: .seconds(10)) == 1)
    // It has not read the store since.
    #expect(other.states == ["waiting, turn"])
    #expect(await other.outbox.drain(within: .seconds(10)) == 1)
    #expect(one.sent.count == 1 && other.states == ["waiting, backoff"])
    one.clock.advance(by: .seconds(61))
    #expect(await other.outbox.drain(within: .seconds(10)) == 0)
    #expect(one.sent.count == 2 && Set(one.keys).count == 1)
    try await one.end()
  }

  @Test func `one cannot withdraw what the other sends`() async throws {
    let (one, other) = try await pair { try await $0.layer.submit(Add(name: "a")) }
    let gate = Gate()
    one.transport.answer("/v1/a", with: accepted.held(at: gate))
    async let left = one.outbox.drain(within: .seconds(10))
    try await gate.waitForArrival()
    let id = try #require(other.outbox.entries.first?.id)
    #expect(other.states == ["waiting, turn"])
    #expect(await !other.outbox.withdraw(id))
    gate.open()
    #expect(await left == 0)
    try await one.end()
  }

  @Test func `one cannot withdraw what the other has tried`() async throws {
    let (one, other) = try await pair { try await $0.layer.submit(Add(name: "a")) }
    one.transport.answer("/v1/a", with: .response(.serviceUnavailable, fields: [.retryAfter: "60"]))
    #expect(await one.outbox.drain(within: .seconds(10)) == 1)
    let id = try #require(other.outbox.entries.first?.id)
    #expect(await !other.outbox.withdraw(id))
    #expect(try await one.storage.contents(of: .shared).entries.map(\.id) == [id])
    #expect(try await one.storage.contents(of: .shared).leases.isEmpty)
    try await one.end()
  }

  @Test func `a process that is about to send does not withdraw what the other has tried`() async throws {
    let store = MemoryStore()
    let one = Writer(storage: store) { $0.sendsByItself = false }
    let id = try await one.layer.submit(Add(name: "a")).id
    let other = Writer(storage: store.reopened(), on: one.bench) { $0.sendsByItself = false }
    one.transport.answer("/v1/a", with: .response(.serviceUnavailable, fields: [.retryAfter: "60"]), accepted)
    #expect(await other.outbox.drain(within: .seconds(10)) == 1)
    one.clock.advance(by: .seconds(61))
    let next = store.claims.closed()
    async let left = one.outbox.drain(within: .seconds(10))
    try await store.claims.waitForArrival(count: next)
    async let isWithdrawn = one.outbox.withdraw(id)
    await yield()
    store.claims.open()
    #expect(await !isWithdrawn)
    #expect(await left == 0)
    #expect(one.sent.count == 2)
    try await one.end()
  }

  @Test func `of two processes, only one retries or discards a refused entry`() async throws {
    let (one, other) = try await pair { writer in
      writer.transport.answer("/v1/a", with: refused)
      try await writer.layer.submit(Add(name: "a"))
      #expect(await writer.outbox.drain(within: .seconds(10)) == 1)
    }
    let id = try #require(other.outbox.entries.first?.id)
    #expect(one.states == ["refused"] && other.states == ["refused"])
    #expect(await one.outbox.retry(id))
    #expect(await !other.outbox.retry(id))
    #expect(await !other.outbox.discard(id))
    #expect(try await one.storage.contents(of: .shared).leases.isEmpty)
    try await other.outbox.reload()
    #expect(other.states == ["waiting, turn"])
    try await one.end()
  }

  @Test func `an entry that the other process sends is shown as being sent`() async throws {
    let (one, other) = try await pair { try await $0.layer.submit(Add(name: "a")) }
    let gate = Gate()
    one.transport.answer("/v1/a", with: accepted.held(at: gate))
    async let left = one.outbox.drain(within: .seconds(10))
    try await gate.waitForArrival()
    #expect(other.states == ["waiting, turn"])
    try await other.outbox.reload()
    #expect(other.states == ["sending"])
    gate.open()
    #expect(await left == 0)
    try await one.end()
  }

  @Test func `an entry that the other process got refused is not sent again`() async throws {
    let (one, other) = try await pair { try await $0.layer.submit(Add(name: "a")) }
    one.transport.answer("/v1/a", with: refused, accepted)
    #expect(await one.outbox.drain(within: .seconds(10)) == 1)
    #expect(other.states == ["waiting, turn"])
    #expect(await other.outbox.drain(within: .seconds(10)) == 1)
    #expect(one.sent.count == 1 && other.states == ["refused"])
    try await one.end()
  }

  @Test func `one does not discard what the other has put back into its lane`() async throws {
    let (one, other) = try await pair { writer in
      writer.transport.answer("/v1/a", with: refused)
      try await writer.layer.submit(Add(name: "a"))
      #expect(await writer.outbox.drain(within: .seconds(10)) == 1)
    }
    let id = try #require(other.outbox.entries.first?.id)
    #expect(await one.outbox.retry(id))
    #expect(await !other.outbox.discard(id))
    #expect(try await one.storage.contents(of: .shared).entries.map(\.id) == [id])
    #expect(other.states == ["waiting, turn"])
    try await one.end()
  }

  @Test func `one learns how the other has ended an entry`() async throws {
    let (one, other) = try await pair { writer in
      writer.transport.answer("/v1/a", with: refused)
      writer.transport.answer("/v1/b", with: accepted)
    }
    try await other.fetch("x")
    let submissions = [try await other.layer.submit(Add(name: "a")), try await other.layer.submit(Add(name: "b"))]
    #expect(other.shown == ["x", "a", "b"])
    try await one.outbox.reload()
    #expect(await one.outbox.drain(within: .seconds(10)) == 1)
    try await other.outbox.reload()
    #expect(other.states == ["refused"] && other.shown == ["x", "b"])
    for submission in submissions { #expect(await TestSupport.error { try await submission.answer() } != nil) }
    try await one.end()
  }

  @Test func `one has the id that the other was given, in what waits for it`() async throws {
    let add = AddItem(name: "x")
    let (one, other) = try await pair { try await $0.layer.submit(add) }
    try await other.layer.submit(RenameItem(id: add.id.int, name: "y", lane: "other"))
    one.transport.answer("/v1/items", with: .json(#"{"id":7,"name":"x"}"#))
    one.transport.answer("/v1/items/7", with: accepted)
    #expect(await one.outbox.drain(until: try #require(one.outbox.entries.first?.id), within: .seconds(10)))
    #expect(other.states == ["waiting, turn", "waiting, identity"])
    #expect(await other.outbox.drain(within: .seconds(10)) == 0)
    #expect(one.sent == [#"POST /v1/items {"name":"x"}"#, #"PATCH /v1/items/7 {"name":"y"}"#])
    try await one.end()
  }

  @Test func `one learns that the other has decided, when it decides`() async throws {
    let (one, other) = try await pair { writer in
      writer.transport.answer("/v1/a", with: refused)
      try await writer.layer.submit(Add(name: "a"))
      #expect(await writer.outbox.drain(within: .seconds(10)) == 1)
    }
    let id = try #require(one.outbox.entries.first?.id)
    #expect(await one.outbox.discard(id))
    #expect(other.states == ["refused"])
    #expect(await !other.outbox.discard(id))
    #expect(other.states.isEmpty)
    try await one.end()
  }

  @Test func `a failure that comes late does not undo the other's acceptance`() async throws {
    let store = MemoryStore()
    let one = Writer(storage: store) { $0.sendsByItself = false }
    try await one.fetch("x")
    try await one.layer.submit(Add(name: "a"))
    let other = Writer(storage: store.reopened(), on: one.bench) { $0.sendsByItself = false }
    let gate = Gate()
    one.transport.answer("/v1/a", with: refused.held(at: gate), accepted)
    async let left = one.outbox.drain(within: .seconds(1000))
    try await gate.waitForArrival()
    // It was suspended, and could not renew its lease.
    _ = store.claims.closed()
    one.clock.advance(by: .seconds(600))
    #expect(await other.outbox.drain(within: .seconds(10)) == 0)
    gate.open()
    store.claims.open()
    #expect(await left == 0)
    #expect(one.states.isEmpty && one.sent.count == 2)
    let stored = try await store.contents(of: .shared).entries.map { try OutboxEntry(decoding: $0).state }
    #expect(stored == [.accepted])
    #expect(one.confirmed == ["x", "a"])
    try await one.end()
  }

  @Test func `a condition is the tag of the value in memory, though the other has saved a newer one`() async throws {
    let store = MemoryStore()
    let one = Writer(storage: store)
    try await one.fetch("a", fields: [.cacheControl: "max-age=600", .eTag: "\"1\""])
    let other = Writer(storage: store.reopened(), on: one.bench)
    one.clock.advance(by: .seconds(700))
    try await other.fetch("b", fields: [.cacheControl: "max-age=600", .eTag: "\"2\""])
    #expect(one.confirmed == ["a"] && other.confirmed == ["b"])
    one.transport.answer("/v1/list", with: .response(.noContent))
    try await one.layer.submit(Append(name: "c")).answer()
    let put = try #require(one.transport.requests.last { $0.request.method == .put })
    #expect(put.request.headerFields[.ifMatch] == "\"1\"")
    #expect(one.sent == [#"PUT /v1/list ["a","c"]"#])
    try await one.end()
  }

  @Test func `a store that cannot be read is an error, and what is known stays`() async throws {
    let writer = Writer(storage: FileOutboxStorage(directory: URL(filePath: "/dev/null/outbox")))
    let error = await TestSupport.error { try await writer.outbox.reload() }
    guard case .persistence = error else { return #expect(Bool(false), "\(String(describing: error))") }
    #expect(writer.outbox.entries.isEmpty)
  }
}
