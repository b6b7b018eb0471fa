import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// Events as an observer that counts them sees them.
@Suite("Observed events", .timeLimit(.minutes(5)))
struct ObservedEventsTests {
  private final class Owner: Sendable {
    let told = Shared<[ReactorEvent.Kind.Name]>([])
    func add(_ event: ReactorEvent) { told.change { $0.append(event.kind.name) } }
  }

  @Test func `an observation with an owner needs no token, and ends with the owner`() async throws {
    let bench = Bench()
    var owner: Owner? = Owner()
    let told = try #require(owner).told
    bench.layer.observeEvents(for: try #require(owner)) { $0.add($1) }
    bench.notes.observeEvents(for: try #require(owner)) { $0.add($1) }
    try await bench.notes.save(Note(1, "one"), for: "note")
    #expect(told.value.count { $0 == .savedLocally } == 2)
    weak let weakOwner = owner
    owner = nil
    #expect(weakOwner == nil)
    let count = told.value.count
    try await bench.notes.save(Note(1, "two"), for: "note")
    #expect(told.value.count == count)
  }

  @Test func `a layer may be the owner of its observers`() async throws {
    let told = Shared(0)
    weak var weakLayer: ModelLayer?
    do {
      let layer = ModelLayer(baseURL: Bench.url, transport: ScriptedTransport())
      weakLayer = layer
      layer.observeEvents(for: layer) { _, _ in told.change { $0 += 1 } }
      await layer.reactor(Note.self).invalidate("note")
    }
    #expect(told.value == 1)
    #expect(weakLayer == nil)
  }

  @Test func `the sequence of events ends with the layer and its reactors`() async throws {
    var layer: ModelLayer? = ModelLayer(baseURL: Bench.url, transport: ScriptedTransport())
    let events = try #require(layer).events
    let iterator = events.makeAsyncIterator()
    await layer?.reactor(Note.self).invalidate("note")
    let reader = Task {
      var iterator = iterator
      var names: [ReactorEvent.Kind.Name] = []
      while let event = await iterator.next(isolation: nil) { names.append(event.kind.name) }
      return names
    }
    layer = nil
    #expect(await reader.value == [.invalidated])
  }

  @Test func `a slow reader gets the number of lost events after the earlier ones`() async throws {
    let bench = Bench()
    try await bench.notes.save(Note(1, "one"), for: "note")
    var events = bench.layer.events.makeAsyncIterator()
    for _ in 0..<10 { _ = try await bench.notes.fetch("note") }
    for _ in 0..<10 { _ = await events.next(isolation: nil) }
    for _ in 0..<1_029 { _ = try await bench.notes.fetch("note") }
    for _ in 0..<1_024 { #expect(await events.next(isolation: nil)?.kind.name == .memoryHit) }
    guard case .dropped(5) = await events.next(isolation: nil)?.kind else {
      return #expect(Bool(false), "none was lost")
    }
  }

  @Test func `a local write says how many bytes it has saved`() async throws {
    let bench = Bench()
    let note = Note(1, "one")
    try await bench.notes.save(note, for: "note")
    let record = try #require(try await bench.persistence?.entries(in: nil, url: nil).first)
    let bytes = try #require(try await bench.persistence?.load(record.key)?.body.count)
    #expect(bytes > 0)
    #expect(bench.log.kinds.count { if case .saved(bytes: bytes) = $0 { true } else { false } } == 1)
  }

  @Test func `a local value that has no bytes does not count as saved`() async throws {
    let bench = Bench()
    let parser = Parser<Note>(parse: { _ in throw Broken() }, encode: { _ in throw Broken() })
    try await bench.layer.reactor(parser: parser).save(Note(1, "mine"), for: "note")
    #expect(bench.log.count(.notEncoded) == 1)
    #expect(bench.log.count(.savedLocally) == 1 && bench.log.count(.saved) == 0)
  }

  @Test func `a typed store says how many bytes it has saved`() async throws {
    let flow = ReactorFlow<Note>.persisted(in: MemoryPersistence()) { _ in Note(1, "one") }
    let reactor = Reactor(flow: flow)
    let log = EventRecorder(reactor, except: [.ownSteps])
    _ = try await reactor.fetch("note")
    try await reactor.save(Note(1, "two"), for: "note")
    let sizes = log.kinds.compactMap { if case .saved(let bytes) = $0 { bytes } else { nil } }
    #expect(sizes.count == 2 && !sizes.contains(0))
    #expect(log.count(.savedLocally) == 1)
  }

  @Test(arguments: ["save", "remove", "invalidate", "removeAll"])
  func `each ended request has an event, so a gauge returns to zero`(change: String) async throws {
    // Only its cancellation ends the first request: an answer that comes before it would be told of
    // too.
    let (gate, open, requests) = (Gate(), Gate(isOpen: true), Shared(0))
    let bench = Bench(
      transport: ScriptedTransport { _, _ in
        let isFirst = requests.change { count in
          count += 1
          return count == 1
        }
        return .json(Note(1, "one").json).held(at: isFirst ? gate : open)
      })
    let notes = bench.notes
    let task = Task { try? await notes.fetch("note") }
    try await gate.waitForArrival()
    switch change {
    case "save": try await notes.save(Note(1, "mine"), for: "note")
    case "remove": try await notes.remove("note")
    case "invalidate": await notes.invalidate("note")
    default: try await bench.layer.removeAll()
    }
    _ = await task.value
    try await bench.waitUntilNothingWaits()
    let begun = bench.log.count(.request)
    let ended = bench.log.count(.response) + bench.log.count(.superseded) + bench.log.count(.cancelled)
    #expect(begun == ended, "\(bench.log.names)")
  }
}
