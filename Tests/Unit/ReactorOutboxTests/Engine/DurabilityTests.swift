import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// Adds a name even if it is there, unlike a correct draft.
private struct AddTwice: Mutation {
  var name: String

  func request(_ known: Known) throws -> Resource { Resource(name, method: .post) }

  func draft(_ drafts: inout Drafts) { drafts.change([String].self, at: "list") { [name] in $0.append(name) } }
}

@Suite("An outbox that outlives its process", .timeLimit(.minutes(5)))
struct DurabilityTests {
  @Test func `an offline submission is shown and sent by the next process, in order`() async throws {
    let writer = Writer(storage: MemoryStore())
    try await writer.fetch("a")
    writer.bench.reachability.set(false)
    let first = try await writer.layer.submit(Add(name: "b"))
    let second = try await writer.layer.submit(Add(name: "c"))
    await writer.wait(for: "waiting, connectivity", "waiting, turn")
    let next = writer.relaunched()
    // No value is shown without its drafts.
    #expect(try await next.notes.fetch(next.list, policy: .cacheOnly) == ["a", "b", "c"])
    #expect(next.outbox.entries.map(\.id) == [first.id, second.id])
    #expect(next.outbox.entries.compactMap { ($0.mutation as? Add)?.name } == ["b", "c"])
    writer.outbox.pause()
    for name in ["b", "c"] { next.transport.answer("/v1/\(name)", with: .json("\"done\"")) }
    next.bench.reachability.set(true)
    await next.wait()
    #expect(next.sent == ["POST /v1/b b", "POST /v1/c c"])
    #expect(next.shown == ["a", "b", "c"])
    #expect(next.confirmed == ["a", "b", "c"])
    try await next.end()
  }

  @Test(.timeLimit(.minutes(5)))
  func `a request that was under way is sent again with its bytes and its key, once the lease ends`()
    async throws
  {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    let gate = Gate()
    writer.transport.answer("/v1/b", with: accepted.held(at: gate), .json("\"done\""))
    try await writer.layer.submit(Add(name: "b"))
    try await gate.waitForArrival()
    let next = writer.relaunched()
    await next.wait(for: "sending")
    #expect(next.sent.count == 1)
    // The process is gone, and renews nothing.
    store.failure.store(true, ordering: .relaxed)
    // The lease of the process that is gone ends after thirty seconds.
    while next.sent.count == 1 {
      try await next.clock.waitForSleepers(count: 2)
      next.clock.advance(by: .seconds(1))
    }
    try await next.transport.waitForRequests(count: 2)
    #expect(next.sent == ["POST /v1/b b", "POST /v1/b b"])
    #expect(Set(next.keys).count == 1)
    await next.wait()
    gate.open()
  }

  @Test func `an accepted draft is shown over an older base after a restart, for ten minutes`() async throws {
    let writer = Writer(storage: MemoryStore())
    try await writer.fetch("a")
    writer.transport.answer("/v1/b", with: .json("\"done\""))
    _ = try await writer.layer.submit(Add(name: "b")).answer()
    let next = writer.relaunched()
    #expect(try await next.notes.fetch(next.list, policy: .cacheOnly) == ["a", "b"])
    #expect(next.confirmed == ["a", "b"])
    writer.clock.advance(by: .seconds(601))
    let last = writer.relaunched()
    #expect(try await last.notes.fetch(last.list, policy: .cacheOnly) == ["a"])
    #expect(try await last.storage.contents(of: .shared).entries.isEmpty)
    try await last.end()
  }

  @Test func `hundreds of entries are shown in order after a restart, after what was accepted among them`()
    async throws
  {
    let writer = Writer(storage: MemoryStore())
    try await writer.fetch("a")
    let gate = Gate()
    writer.transport.answer("/v1/0", with: accepted.held(at: gate))
    writer.transport.answer("/v1/x", with: .json("\"done\""))
    let names = (0..<200).map(String.init)
    var ids: [UUID] = []
    for name in names {
      ids.append(try await writer.layer.submit(Add(name: name)).id)
      if ids.count == 100 { _ = try await writer.layer.submit(Add(name: "x", lane: "other")).answer() }
    }
    await writer.outbox.stop()
    let next = writer.relaunched { $0.sendsByItself = false }
    #expect(try await next.notes.fetch(next.list, policy: .cacheOnly) == ["a", "x"] + names)
    #expect(next.confirmed == ["a", "x"])
    #expect(next.outbox.entries.map(\.id) == ids)
    gate.open()
    try await next.end()
  }

  @Test func `an entry that a store returns twice is shown and sent once`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    try await writer.fetch("a")
    writer.bench.reachability.set(false)
    try await writer.layer.submit(AddTwice(name: "b"))
    store.repeatsEntries.store(true, ordering: .relaxed)
    let next = writer.relaunched { $0.mutations = [AddTwice.self] }
    #expect(try await next.notes.fetch(next.list, policy: .cacheOnly) == ["a", "b"])
    writer.outbox.pause()
    next.transport.answer("/v1/b", with: accepted)
    next.bench.reachability.set(true)
    await next.wait()
    #expect(next.sent == ["POST /v1/b "])
    try await next.end()
  }

  @Test func `a part that was set aside is reported after the store was read, while it exists`()
    async throws
  {
    let store = MemoryStore()
    store.setAside.withLock { $0 = ["one"] }
    let writer = Writer(storage: store)
    try await writer.outbox.reload()
    #expect(writer.outbox.setAside == ["one"])
    store.setAside.withLock { $0 = ["one", "two"] }
    let added = Mutex<[String]>([])
    let observation = writer.layer.observeEvents { event in
      if case .outbox(_, .unreadable(let reason)) = event.kind { added.withLock { $0.append(reason) } }
    }
    try await writer.outbox.reload()
    #expect(writer.outbox.setAside == ["one", "two"])
    await writer.layer.flushEvents()
    #expect(added.withLock(\.self) == ["two"])
    store.setAside.withLock { $0 = [] }
    try await writer.outbox.reload()
    #expect(writer.outbox.setAside.isEmpty)
    observation.cancel()
    try await writer.end()
  }

  @Test func `row F: what a program cannot read is kept, listed, not sent, and read by the next one`() async throws {
    let writer = Writer(storage: MemoryStore())
    writer.bench.reachability.set(false)
    try await writer.layer.submit(Add(name: "b"))
    writer.outbox.pause()
    writer.bench.reachability.set(true)
    let stranger = writer.relaunched { $0.mutations = [] }
    await stranger.wait(for: "unreadable")
    #expect(stranger.sent.isEmpty)
    #expect(await stranger.outbox.drain(within: .zero) == 1)
    stranger.transport.answer("/v1/b", with: .json("\"done\""))
    let next = writer.relaunched()
    await next.wait()
    #expect(next.sent == ["POST /v1/b b"])
    try await next.end()
  }

  @Test func `row G: a refusal does not hold the lane, and stays listed over restarts until it is discarded`()
    async throws
  {
    let writer = Writer(storage: MemoryStore())
    writer.transport.answer("/v1/b", with: refused)
    writer.transport.answer("/v1/c", with: accepted)
    let submission = try await writer.layer.submit(Add(name: "b"))
    try await writer.layer.submit(Add(name: "c"))
    await writer.wait(for: "refused")
    #expect(writer.sent.count == 2)
    let next = writer.relaunched()
    await next.wait(for: "refused")
    #expect(next.outbox.entries.first?.status == 422)
    #expect(await next.outbox.discard(submission.id))
    let last = writer.relaunched()
    await last.wait()
    try await last.end()
  }

  @Test func `a refused write is retried by a process that has just learnt of it, before its lease is released`()
    async throws
  {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    writer.transport.answer("/v1/b", with: refused, accepted)
    store.releases.close()
    let submission = try await writer.layer.submit(Add(name: "b"))
    await #expect(throws: ReactorError.self) { try await submission.answer() }
    try await store.releases.waitForArrival()
    async let isRetried = writer.outbox.retry(submission.id)
    for _ in 0..<20 { await Task.yield() }
    store.releases.open()
    #expect(await isRetried)
    await writer.wait()
    #expect(writer.sent.count == 2)
    try await writer.end()
  }

  @Test func `a 401 to a request from before the sign-in does not stop the outbox`() async throws {
    let writer = Writer()
    let gate = Gate()
    writer.transport.answer("/v1/b", with: ScriptedTransport.Answer.response(.unauthorized).held(at: gate), accepted)
    try await writer.layer.submit(Add(name: "b"))
    try await gate.waitForArrival()
    writer.outbox.resume()
    gate.open()
    await writer.wait()
    #expect(writer.sent.count == 2)
    try await writer.end()
  }

  @Test func `a sent entry cannot be withdrawn, even before its outcome is saved`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    let gate = Gate()
    let lost = ScriptedTransport.Answer.response(.badGateway).held(at: gate)
    writer.transport.answer("/v1/b", with: lost, accepted)
    let submission = try await writer.layer.submit(Add(name: "b"))
    try await gate.waitForArrival()
    store.failure.store(true, ordering: .relaxed)
    gate.open()
    let retry = writer.clock.now.advanced(by: .milliseconds(100))
    try await writer.clock.waitForSleeper(until: retry)
    #expect(await !writer.outbox.withdraw(submission.id))
    store.failure.store(false, ordering: .relaxed)
    writer.clock.advance(to: retry)
    await writer.wait(for: "unknown, backoff")
    writer.clock.advance(by: .seconds(60))
    _ = try? await submission.answer()
    #expect(writer.sent.count == 2)
    try await writer.end()
  }

  @Test func `a retried entry is not sent before its lease is released`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    let gate = Gate()
    writer.transport.answer("/v1/b", with: refused, accepted.held(at: gate))
    let submission = try await writer.layer.submit(Add(name: "b"))
    await writer.wait(for: "refused")
    while try await !store.contents(of: .shared).leases.isEmpty { await Task.yield() }
    store.releases.close()
    async let isRetried = writer.outbox.retry(submission.id)
    try await store.releases.waitForArrival()
    store.releases.open()
    #expect(await isRetried)
    try await gate.waitForArrival()
    #expect(try await store.contents(of: .shared).leases[submission.id] != nil)
    gate.open()
    await writer.wait()
    try await writer.end()
  }

  @Test func `submit throws when it cannot be saved, and shows nothing`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    try await writer.fetch("a")
    store.failure.store(true, ordering: .relaxed)
    let error = await TestSupport.error { try await writer.layer.submit(Add(name: "b")) }
    #expect(error.map { if case .persistence = $0 { true } else { false } } == true)
    #expect(writer.shown == ["a"])
    #expect(writer.outbox.entries.isEmpty)
    store.failure.store(false, ordering: .relaxed)
    #expect(writer.sent.isEmpty)
    try await writer.end()
  }

  @Test func `sign-out removes what was written, and its answer is dropped`() async throws {
    let writer = Writer(storage: MemoryStore(), scope: "alice")
    try await writer.fetch("a")
    let gate = Gate()
    writer.transport.answer("/v1/b", with: .json("\"done\"").held(at: gate, ignoresCancellation: true))
    let first = try await writer.layer.submit(Add(name: "b"))
    let second = try await writer.layer.submit(Add(name: "c"))
    try await gate.waitForArrival()
    try await writer.layer.signOut()
    for submission in [first, second] {
      let error = await TestSupport.error { try await submission.answer() }
      #expect(error?.isCancelled == true)
    }
    #expect(writer.shown == nil)
    #expect(writer.outbox.entries.isEmpty)
    #expect(try await writer.storage.contents(of: "alice").entries.isEmpty)
    gate.open()
    try await writer.transport.waitUntilIdle()
    #expect(writer.sent == ["POST /v1/b b"])
    #expect(writer.shown == nil)
    let next = writer.relaunched(scope: "bob")
    #expect(next.outbox.entries.isEmpty)
    try await next.end()
  }

  @Test func `no scope sees the entries of another`() async throws {
    let writer = Writer(storage: MemoryStore(), scope: "alice")
    writer.bench.reachability.set(false)
    try await writer.layer.submit(Add(name: "b"))
    writer.outbox.pause()
    writer.bench.reachability.set(true)
    let bob = writer.relaunched(scope: "bob")
    await bob.wait()
    #expect(await bob.outbox.drain(within: .zero) == 0)
    #expect(bob.sent.isEmpty)
    #expect(try await writer.storage.contents(of: "alice").entries.count == 1)
  }
}
