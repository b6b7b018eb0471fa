import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import TestSupport
import Testing

/// A mutation whose request is made when a gate opens.
private struct Gated: Mutation {
  static let gate = Gate()
  func request(_ known: Known) async throws -> Resource {
    try await Self.gate.wait()
    return Resource("gated", method: .post)
  }
}

@Suite("An outbox that sends only when it is drained", .timeLimit(.minutes(5)))
struct DrainingTests {
  private func writer(_ store: MemoryStore = MemoryStore(), on bench: Bench = Bench()) -> Writer {
    Writer(storage: store, on: bench) { $0.sendsByItself = false }
  }

  @Test func `a configuration without sendsByItself sends only in a drain`() async throws {
    let writer = writer()
    for name in ["b", "c"] { writer.transport.answer("/v1/\(name)", with: .json("\"done\"")) }
    try await writer.layer.submit(Add(name: "b"))
    try await writer.layer.submit(Add(name: "c", lane: "other"))
    #expect(writer.states == ["waiting, turn", "waiting, turn"] && writer.sent.isEmpty)
    #expect(await writer.outbox.drain(within: .seconds(10)) == 0)
    #expect(Set(writer.sent) == ["POST /v1/b b", "POST /v1/c c"])
    try await writer.layer.submit(Add(name: "d"))
    #expect(writer.states == ["waiting, turn"] && writer.sent.count == 2)
    try await writer.end()
  }

  @Test func `a drain counts each entry that no server has accepted, whatever became of it`() async throws {
    let writer = writer()
    writer.transport.answer("/v1/a", with: .json("\"done\""))
    writer.transport.answer("/v1/b", with: .response(.unprocessableContent))
    writer.transport.answer("/v1/c", with: .json("<html>Sign in</html>", fields: [.contentType: "text/html"]))
    writer.transport.answer("/v1/d", with: .response(.serviceUnavailable, fields: [.retryAfter: "60"]))
    for name in ["a", "b", "c", "d"] { try await writer.layer.submit(Add(name: name, lane: Lane(rawValue: name))) }
    #expect(await writer.outbox.drain(within: .seconds(10)) == 3)
    #expect(writer.states == ["refused", "unresolved", "waiting, backoff"])
    for entry in writer.outbox.entries { await writer.outbox.discard(entry.id) }
    writer.transport.answer("/v1/d", with: .json("\"done\""))
    writer.clock.advance(by: .seconds(60))
    #expect(await writer.outbox.drain(within: .seconds(10)) == 0)
    try await writer.end()
  }

  @Test func `an entry that this program cannot read counts as one that is left`() async throws {
    let store = MemoryStore()
    try await writer(store).layer.submit(Add(name: "a"))
    let other = Writer(storage: store.reopened()) {
      $0.mutations = []
      $0.sendsByItself = false
    }
    #expect(await other.outbox.drain(within: .seconds(10)) == 1)
    #expect(other.states == ["unreadable"])
    try await other.end()
  }

  @Test func `a program that looks once gets the entries of the store, however long that takes to read`()
    async throws
  {
    let store = MemoryStore()
    let id = try await writer(store).layer.submit(Add(name: "a")).id
    let reopened = store.reopened()
    reopened.reads.close()
    let next = writer(reopened)
    #expect(next.outbox.entries.isEmpty)
    async let entries = next.outbox.reload()
    try await reopened.reads.waitForArrival()
    reopened.reads.open()
    #expect(try await entries.map(\.id) == [id])
    try await next.end()
  }

  @Test func `when the time of a drain is over, its lanes begin nothing more`() async throws {
    let writer = writer()
    let gate = Gate()
    writer.transport.answer("/v1/b", with: .json("\"done\"").held(at: gate))
    let first = try await writer.layer.submit(Add(name: "b"))
    try await writer.layer.submit(Add(name: "c"))
    async let left = writer.outbox.drain(within: .seconds(5))
    try await gate.waitForArrival()
    writer.clock.advance(by: .seconds(5))
    #expect(await left == 2)
    gate.open()
    let answer = try await first.answer()
    #expect(answer == "\"done\"")
    await writer.wait(for: "waiting, turn")
    #expect(writer.sent == ["POST /v1/b b"])
    try await writer.end()
  }

  @Test func `a drain until an entry sends its lane up to it`() async throws {
    let writer = writer()
    for name in ["a", "b", "c", "x"] { writer.transport.answer("/v1/\(name)", with: .json("\"\(name)\"")) }
    try await writer.layer.submit(Add(name: "x", lane: "other"))
    try await writer.layer.submit(Add(name: "a"))
    let submission = try await writer.layer.submit(Add(name: "b"))
    try await writer.layer.submit(Add(name: "c"))
    #expect(await writer.outbox.drain(until: submission.id, within: .seconds(10)))
    let answer = try await submission.answer()
    #expect(answer == "\"b\"")
    #expect(writer.sent == ["POST /v1/a a", "POST /v1/b b"])
    #expect(writer.states == ["waiting, turn", "waiting, turn"])
    #expect(await writer.outbox.drain(until: UUID(), within: .seconds(10)))
    try await writer.end()
  }

  @Test func `a drain until an entry ends early if nothing of its lane can go in time`() async throws {
    let writer = writer()
    writer.transport.answer("/v1/b", with: .response(.serviceUnavailable, fields: [.retryAfter: "60"]))
    let submission = try await writer.layer.submit(Add(name: "b"))
    #expect(await !writer.outbox.drain(until: submission.id, within: .seconds(10)))
    #expect(writer.states == ["waiting, backoff"])
    try await writer.end()
  }

  @Test func `a cancelled drain begins nothing more`() async throws {
    let writer = writer()
    let gate = Gate()
    writer.transport.answer("/v1/b", with: accepted.held(at: gate))
    try await writer.layer.submit(Add(name: "b"))
    try await writer.layer.submit(Add(name: "c"))
    let drain = Task { await writer.outbox.drain(within: .seconds(60)) }
    try await gate.waitForArrival()
    drain.cancel()
    #expect(await drain.value == 2)
    gate.open()
    await writer.wait(for: "waiting, turn")
    #expect(writer.sent.count == 1)
    try await writer.end()
  }

  @Test func `stopping an outbox leaves an unknown outcome and no lease, and sends nothing more`() async throws {
    let writer = writer()
    let gate = Gate()
    writer.transport.answer("/v1/b", with: accepted.held(at: gate))
    try await writer.layer.submit(Add(name: "b"))
    try await writer.layer.submit(Add(name: "c"))
    async let left = writer.outbox.drain(within: .seconds(60))
    try await gate.waitForArrival()
    await writer.outbox.stop()
    #expect(await left == 2)
    #expect(writer.outbox.entries.map(\.attempts) == [1, 0])
    #expect(try await writer.storage.contents(of: .shared).leases.isEmpty)
    #expect(await writer.outbox.drain(within: .seconds(60)) == 2)
    #expect(writer.sent.count == 1)
    gate.open()
    try await writer.end()
  }

  @Test func `stopping an outbox sends no prepared entry, which stays as it was`() async throws {
    let writer = writer()
    try await writer.layer.submit(Gated())
    async let left = writer.outbox.drain(within: .seconds(60))
    try await Gated.gate.waitForArrival()
    async let stopped: Void = writer.outbox.stop()
    // The drain ends when the outbox stops, which is before the request is made.
    #expect(await left == 1)
    Gated.gate.open()
    await stopped
    #expect(writer.sent.isEmpty && writer.outbox.entries.map(\.attempts) == [0])
    #expect(writer.states == ["waiting, stopped"])
    #expect(try await writer.storage.contents(of: .shared).leases.isEmpty)
    try await writer.end()
  }
}
