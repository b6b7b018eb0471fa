import Foundation
import HTTPTypes
import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

/// A value that a 304 confirms is not new: nothing is parsed, derived or drawn again.
@Suite("A value that was confirmed", .timeLimit(.minutes(5)))
struct UnchangedValueTests {
  private static let tag: HTTPFields = [.eTag: "\"1\"", .cacheControl: "max-age=60"]

  /// - Parameter gate: is passed before a 304.
  private func bench(
    persistence: (any Persistence)? = MemoryPersistence(), gate: Gate = Gate(isOpen: true)
  ) -> Bench {
    Bench(
      persistence: persistence,
      transport: ScriptedTransport { request, _ in
        guard request.headerFields[.ifNoneMatch] != nil else {
          return .json(Note(1, "one").json, fields: Self.tag)
        }
        try await gate.wait()
        return .response(.notModified, fields: Self.tag)
      })
  }

  @Test(arguments: [true, false])
  func `a 304 parses nothing, and keeps the value's revision`(isPersistent: Bool) async throws {
    let bench = bench(persistence: isPersistent ? MemoryPersistence() : nil)
    let derived = Shared(0)
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    var mapped = bench.notes.states(for: "note").mapValues { note in
      derived.change { $0 += 1 }
      return note.text
    }.makeAsyncIterator()
    let first = try #require(await states.first { $0.fetchStatus == .idle })
    #expect(await mapped.first { $0.fetchStatus == .idle }?.value == "one")
    bench.clock.advance(by: .seconds(61))
    _ = try await bench.notes.fetch("note")
    let second = try #require(await states.first { $0.fetchStatus == .idle })
    #expect(await mapped.first { $0.fetchStatus == .idle }?.value == "one")
    #expect(second.revision > first.revision && second.fetchedAt != first.fetchedAt)
    #expect(second.valueRevision == first.valueRevision)
    #expect(derived.value == 1)
    #expect(bench.log.kinds.count { if case .notModified(parsedBytes: 0) = $0 { true } else { false } } == 1)
    #expect(bench.log.count(.parsed) == 1)
    #expect(bench.log.count(.notModified) == 1)
    try await bench.notes.save(Note(1, "one"), for: "note")
    #expect(await states.next()?.valueRevision != first.valueRevision)
  }

  @Test func `a stale record is parsed once, and a 304 confirms what was made of it`() async throws {
    let gate = Gate()
    let bench = bench(gate: gate)
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(61))
    let later = bench.restarted()
    var states = later.notes.states(for: "note").makeAsyncIterator()
    let stale = try #require(await states.first { $0.value != nil })
    gate.open()
    let fresh = try #require(await states.first { $0.fetchStatus == .idle })
    #expect(!fresh.isStale && fresh.valueRevision == stale.valueRevision)
    #expect(later.log.count(.parsed) == 1)
  }

  @Test func `a custom step confirms a value by returning it, and changes it by returning another`() async throws {
    let says = Shared<String?>(nil)
    let reactor = Reactor(
      flow: ReactorFlow<String>(
        network: { _, context in
          guard var snapshot = context.stale else { return Snapshot(model: "one", fetchedAt: Date()) }
          snapshot.fetchedAt = Date()
          if let text = says.value { snapshot.model = text }
          return snapshot
        }, loadFromPersistence: { _ in nil }, saveToPersistence: { _, _ in }))
    var states = reactor.states(for: "a").makeAsyncIterator()
    let first = try #require(await states.first { $0.fetchStatus == .idle })
    _ = try await reactor.fetchFromNetwork("a")
    #expect(await states.first { $0.fetchStatus == .idle }?.valueRevision == first.valueRevision)
    says.change { $0 = "two" }
    _ = try await reactor.fetchFromNetwork("a")
    let changed = try #require(await states.first { $0.fetchStatus == .idle })
    #expect(changed.value == "two" && changed.valueRevision > first.valueRevision)
  }

  @Test func `an open stream asks again after a request that has changed its resource`() async throws {
    let tick = Tick()
    let bench = Bench(transport: ScriptedTransport { _, _ in .json(Note(1, "\(tick.next())").json) })
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    #expect(await states.first { $0.fetchStatus == .idle }?.value?.text == "1")
    _ = try await bench.notes.send(Resource("note", method: .post))
    let refreshed = try #require(await states.first { $0.fetchStatus == .idle })
    #expect(refreshed.value?.text == "3" && !refreshed.isStale)
    #expect(bench.transport.requestCount == 3)
  }

  @Test func `a fetch that does not wait for its save returns before it, and the save comes`() async throws {
    let faulty = FaultyPersistence()
    let gate = faulty.hold(.save)
    let bench = Bench(persistence: faulty) { $0.saving = .inBackground }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    #expect(try await bench.notes.fetch("note").text == "one")
    #expect(bench.notes.cached("note")?.text == "one")
    #expect(bench.log.count(.saved) == 0)
    try await gate.reached()
    gate.open()
    try await bench.log.wait(for: .saved)
    let later = bench.restarted()
    #expect(try await later.notes.fetch("note", policy: .cacheOnly).text == "one")
  }

  @Test func `a save without waiters fails without affecting others`() async throws {
    let faulty = FaultyPersistence()
    faulty.fail(.save, with: Broken())
    let bench = Bench(persistence: faulty) { $0.saving = .inBackground }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    #expect(try await bench.notes.fetch("note").text == "one")
    try await bench.log.wait(for: .saveFailed)
    #expect(bench.notes.cached("note")?.text == "one")
  }
}
