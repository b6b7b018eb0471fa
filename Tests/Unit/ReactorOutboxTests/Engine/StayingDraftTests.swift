import Foundation
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

/// Adds a name on a server that promises to do it within an hour (RFC 9110 §15.3.3).
private struct Promise: Mutation {
  var name: String

  func request(_ known: Known) throws -> Resource { Resource(name, method: .post) }

  func draft(_ drafts: inout Drafts) {
    drafts.change([String].self, at: "list") { [name] in if !$0.contains(name) { $0.append(name) } }
  }

  func settle(_ answer: Void, _ settlement: inout Settlement) { settlement.keepDraft(for: .seconds(3_600)) }
}

private func add(_ configuration: inout OutboxConfiguration) { configuration.mutations += [Promise.self] }

@Suite("A draft that stays after its acceptance", .timeLimit(.minutes(5)))
struct StayingDraftTests {
  /// A program that has shown *a*, and whose server has promised *b*.
  private func promised(_ store: MemoryStore, on bench: Bench = Bench()) async throws -> Writer {
    let writer = Writer(storage: store, on: bench, add)
    try await writer.fetch("a")
    writer.transport.answer("/v1/b", with: .response(.accepted))
    try await writer.layer.submit(Promise(name: "b")).answer()
    return writer
  }

  @Test func `a staying draft applies to newer values of the next process, for its time`() async throws {
    let writer = try await promised(MemoryStore())
    writer.clock.advance(by: .seconds(3_000))
    let next = writer.relaunched(add)
    next.transport.answer("/v1/list", with: Writer.answer(["a", "x"]))
    #expect(try await next.notes.fetch(next.list, policy: .networkOnly) == ["a", "x", "b"])
    #expect(next.confirmed == ["a", "x"])
    try await next.clock.waitForSleepers(count: 2)
    next.clock.advance(by: .seconds(600))
    try await next.log.wait(for: .invalidated)
    next.transport.answer("/v1/list", with: Writer.answer(["a", "x", "y"]))
    #expect(try await next.notes.fetch(next.list) == ["a", "x", "y"])
    try await next.end()
    // Ten minutes later, nothing of it is left.
    next.clock.advance(by: .seconds(601))
    let last = next.relaunched(add)
    #expect(try await last.notes.fetch(last.list, policy: .cacheOnly) == ["a", "x", "y"])
    #expect(try await last.storage.contents(of: .shared).entries.isEmpty)
    try await last.end()
  }

  @Test func `a value fetched under the draft is requested again if it expires while no process runs`() async throws {
    let (store, bench) = (MemoryStore(), Bench())
    do {
      let writer = try await promised(store, on: bench)
      writer.transport.answer("/v1/list", with: Writer.answer(["a"], [.cacheControl: "max-age=86400"]))
      _ = try await writer.notes.fetch(writer.list, policy: .networkOnly)
    }
    try await bench.clock.waitForSleepers(count: 1)
    bench.clock.advance(by: .seconds(7_200))
    try await bench.waitUntilNothingWaits()
    let next = Writer(storage: store.reopened(), on: bench, add)
    next.transport.answer("/v1/list", with: Writer.answer(["a", "B"]))
    var states: LoadStates<[String]>.Iterator? = next.notes.states(for: "list").makeAsyncIterator()
    #expect(await states?.first { $0.value?.last == "B" }?.value == ["a", "B"])
    states = nil
    try await next.end()
  }

  @Test func `a staying draft outlives more accepted entries than are remembered`() async throws {
    let writer = try await promised(MemoryStore())
    let names = (0..<101).map(String.init)
    for name in names {
      writer.transport.answer("/v1/\(name)", with: .json("\"done\""))
      _ = try await writer.layer.submit(Add(name: name)).answer()
    }
    let next = writer.relaunched(add)
    next.transport.answer("/v1/list", with: Writer.answer(["a"]))
    #expect(try await next.notes.fetch(next.list, policy: .networkOnly) == ["a", "b"])
    next.clock.advance(by: .seconds(3_600))
    try await next.end()
  }

  @Test func `another process that learns of the acceptance shows it as long`() async throws {
    let (store, bench) = (MemoryStore(), Bench())
    let app = Writer(storage: store, on: bench, add)
    try await app.fetch("a")
    app.outbox.pause()
    try await app.layer.submit(Promise(name: "b"))
    let other = app.relaunched(add)
    bench.transport.answer("/v1/b", with: .response(.accepted))
    await other.wait()
    try await app.outbox.reload()
    app.transport.answer("/v1/list", with: Writer.answer(["a"]))
    #expect(try await app.notes.fetch(app.list, policy: .networkOnly) == ["a", "b"])
    #expect(app.confirmed == ["a"])
    try await bench.clock.waitForSleepers(count: 2)
    bench.clock.advance(by: .seconds(3_600))
    try await app.end()
  }

  @Test func `a clock that was set back begins its time again, and no more`() {
    let entry = OutboxEntry.numbered(1, state: .accepted).with {
      $0.endedAt = OutcomePage.now
      $0.draftStaysUntil = OutcomePage.now + 60
    }
    #expect(entry.draftStay(at: OutcomePage.now + 20) == .seconds(40))
    #expect(entry.draftStay(at: OutcomePage.now + 80) == .zero)
    #expect(entry.draftStay(at: OutcomePage.now - 86_400) == .seconds(60))
    #expect(entry.with { $0.draftStaysUntil = nil }.draftStay(at: OutcomePage.now) == nil)
  }
}
