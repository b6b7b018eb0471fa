import HTTPTypes
import Testing

@testable import ReactorCore
@testable import ReactorInspector

@Suite("What an inspector remembers")
struct LedgerTests {
  private static func event(_ path: String, _ kind: ReactorEvent.Kind) -> ReactorEvent {
    ReactorEvent(
      key: RecordKey(method: .get, url: "https://a.example/\(path)"), model: "Note", kind: kind)
  }

  private static func subject(_ path: String, layer: Int = 1) -> Subject {
    Subject(layer: layer, key: event(path, .memoryHit).key)
  }

  @Test func `is the latest of each key and of all`() {
    var ledger = Ledger()
    for number in 0..<2_000 { ledger.record(Self.event("\(number % 10)", .memoryHit), of: 1, at: Double(number)) }
    let events = ledger.histories[Self.subject("3")]?.events.elements ?? []
    #expect(events.count == Ledger.eventsPerKey)
    #expect(events.last?.number == 1_994)
    #expect(ledger.all.count == Ledger.events)
    #expect(ledger.all.last?.event.number == 2_000)
    #expect(ledger.activity.totals.hits == 2_000)
  }

  @Test func `is no more than so many keys, those with the latest events`() {
    var ledger = Ledger()
    for number in 0...Ledger.keys { ledger.record(Self.event("\(number)", .memoryHit), of: 1, at: 0) }
    #expect(ledger.histories.count <= Ledger.keys)
    #expect(ledger.histories.count > Ledger.keys * 7 / 8)
    #expect(ledger.histories[Self.subject("0")] == nil)
    #expect(ledger.histories[Self.subject("\(Ledger.keys)")] != nil)
  }

  @Test func `of a layer is forgotten with it`() {
    var ledger = Ledger()
    ledger.record(Self.event("a", .memoryHit), of: 1, at: 0)
    ledger.record(Self.event("a", .memoryHit), of: 2, at: 0)
    ledger.forget(layer: 1)
    #expect(Array(ledger.histories.keys) == [Self.subject("a", layer: 2)])
  }

  @Test func `of what was pruned is the index and the reason, without a value`() {
    var ledger = Ledger()
    let error = ParserError(
      .wrongType, codingPath: "[4].id", expected: "expected an integer, found a string", excerpt: "\"hunter2\"")
    let refused = ParserError(.unacceptable, codingPath: "[5]", expected: "hunter2 is no colour")
    let elements = [
      ParserError.PrunedElement(index: 4, error: error), ParserError.PrunedElement(index: 5, error: refused),
    ]
    let many = (6..<100).map { ParserError.PrunedElement(index: $0, error: refused) }
    ledger.record(Self.event("a", .pruned(elements + many, count: 96)), of: 1, at: 7)
    let pruned = ledger.histories[Self.subject("a")]?.pruned
    #expect(pruned?.count == 96)
    #expect(pruned?.elements.count == Ledger.prunedPerKey)
    #expect(pruned?.elements.first == .init(index: 4, reason: "expected an integer, found a string at [4].id"))
    #expect(pruned?.elements.contains { $0.reason.contains("hunter2") } == false)
  }

  @Test func `has no progress`() {
    var ledger = Ledger()
    ledger.record(Self.event("a", .progress(TransferProgress(stage: .waiting, sent: 0, toSend: 0))), of: 1, at: 0)
    #expect(ledger.histories.isEmpty && ledger.lastNumber == 0)
  }
}

@Suite("Counts by the second")
struct ActivityTests {
  @Test func `counts by the second are of the last two minutes, the present second included`() {
    var activity = Activity()
    for second in 0..<300 {
      for _ in 0...1 { activity.add(TimelineEvent(at: Double(second) * 1_000 + 400, name: .request, model: "")) }
    }
    #expect(activity.totals.requests == 600)
    #expect(activity.seconds(since: 0).count == Activity.seconds)
    #expect(activity.seconds(since: 298).map(\.at) == [298, 299])
    #expect(activity.seconds(since: 299).first?.counts == Activity.Counts(events: 2, requests: 2))
  }

  @Test func `counts by the second continue where the clock was set back`() {
    var activity = Activity()
    for at in [5_000.0, 1_000, 6_000] { activity.add(TimelineEvent(at: at, name: .memoryHit, model: "")) }
    #expect(activity.seconds(since: 0).map(\.at) == [5, 6])
    #expect(activity.totals.hits == 3)
  }

  @Test(arguments: [
    (TimelineEvent.Name.memoryHit, false, [1, 0, 0, 0]), (.servedStale, false, [1, 0, 0, 0]),
    (.persistenceHit, true, [1, 0, 0, 0]), (.persistenceHit, false, [0, 0, 0, 0]), (.request, false, [0, 1, 0, 0]),
    (.notModified, false, [0, 0, 1, 0]), (.failed, false, [0, 0, 0, 1]), (.saveFailed, false, [0, 0, 0, 1]),
    (.parsed, false, [0, 0, 0, 0]),
  ])
  func `counts by the second tell what needed no request`(_ name: TimelineEvent.Name, _ flag: Bool, _ expected: [Int]) {
    var counts = Activity.Counts()
    counts.add(TimelineEvent(at: 0, name: name, flag: flag, model: ""))
    #expect([counts.hits, counts.requests, counts.notModified, counts.failures] == expected)
    #expect(counts.events == 1)
  }
}
