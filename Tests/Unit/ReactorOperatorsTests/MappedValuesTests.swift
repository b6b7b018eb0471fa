import Foundation
import HTTPTypes
import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: states of a derived value", .timeLimit(.minutes(5)))
struct MappedValuesTests {
  typealias State = LoadState<Int>

  /// Maps `states` to the texts of even numbers. Returns the values, their revisions, and the
  /// numbers that they were derived from.
  private func mapped(_ states: [State]) async throws -> (values: [String?], revisions: [UInt64], derived: [Int]) {
    let derived = Shared<[Int]>([])
    let mapped = elements(states).mapValues { number -> String? in
      derived.change { $0.append(number) }
      return number.isMultiple(of: 2) ? "\(number)" : nil
    }
    let read = try await mapped.collect()
    return (read.map(\.value), read.map(\.valueRevision), derived.value)
  }

  static let rows: [(String, [State], [String?], [UInt64], [Int])] = [
    ("a value", [.loaded(2, 1)], ["2"], [1], [2]),
    (
      "before a value", [State(fetchStatus: .fetching), State(error: .timedOut, revision: 1)], [nil, nil], [0, 0], []
    ),
    (
      "a value whose status changes",
      [
        .loaded(2, 1), State(value: 2, fetchStatus: .fetching, revision: 2, valueRevision: 1),
        State(value: 2, error: .timedOut, revision: 3, valueRevision: 1),
      ], ["2", "2", "2"], [1, 1, 1], [2]
    ),
    ("another value", [.loaded(2, 1), .loaded(4, 2)], ["2", "4"], [1, 2], [2, 4]),
    ("the same number, but another value", [.loaded(2, 1), .loaded(2, 2)], ["2", "2"], [1, 2], [2, 2]),
    ("a value that gives none", [.loaded(1, 1)], [nil], [1], [1]),
    (
      "a value that gives none after one that does", [.loaded(2, 1), .loaded(3, 2), .loaded(4, 3)], ["2", "2", "4"],
      [1, 1, 3], [2, 3, 4]
    ),
    (
      "a value that is gone for a while",
      [
        .loaded(2, 1), State(fetchStatus: .fetching, revision: 2, valueRevision: 1),
        State(error: .timedOut, revision: 3),
      ],
      ["2", "2", "2"], [1, 1, 1], [2]
    ),
    (
      "the same value back again", [.loaded(2, 1), State(fetchStatus: .paused, valueRevision: 1), .loaded(2, 1)],
      ["2", "2", "2"], [1, 1, 1], [2]
    ),
    (
      "a removal", [.loaded(2, 1), State(revision: 2, valueRevision: 2), State(fetchStatus: .fetching), .loaded(3, 4)],
      ["2", nil, nil, nil], [1, 2, 0, 4], [2, 3]
    ),
    (
      "a removal that was missed", [.loaded(2, 1), State(fetchStatus: .fetching, revision: 3, valueRevision: 2)],
      ["2", nil], [1, 2], [2]
    ),
  ]

  @Test(arguments: rows)
  func `what is derived from states`(
    name: String, states: [State], values: [String?], revisions: [UInt64], derived: [Int]
  ) async throws {
    let read = try await mapped(states)
    #expect(read.values == values, "\(name)")
    #expect(read.revisions == revisions, "\(name)")
    #expect(read.derived == derived, "\(name)")
  }

  @Test func `the rest of a state is passed on`() async throws {
    let date = Date(timeIntervalSince1970: 1)
    let state = State(
      value: 2, error: .timedOut, fetchStatus: .paused, origin: .persistence, fetchedAt: date, isStale: true,
      progress: TransferProgress(sent: 3), revision: 9, valueRevision: 8)
    let read = try await elements([state]).mapValues { "\($0)" }.collect()
    for mapped in [try #require(read.first), state.map { "\($0)" }] {
      #expect(mapped.value == "2" && mapped.fetchStatus == .paused && mapped.origin == .persistence)
      #expect(mapped.fetchedAt == date && mapped.isStale && mapped.progress?.sent == 3)
      #expect(mapped.revision == 9 && mapped.valueRevision == 8)
      guard case .timedOut? = mapped.error else { return #expect(Bool(false), "\(String(describing: mapped.error))") }
    }
  }

  @Test func `a state without a value maps to one, and an error of the transformation is thrown`() throws {
    #expect(State(error: .timedOut).map { "\($0)" }.value == nil)
    #expect(throws: Broken.self) { try State(value: 1).map { _ throws(Broken) -> Int in throw Broken() } }
  }

  @Test func `two in a row derive each value once`() async throws {
    let derived = Shared(0)
    let states = elements([State.loaded(1, 1), State(fetchStatus: .fetching, valueRevision: 1), .loaded(2, 2)])
      .mapValues { $0 * 10 }
      .mapValues { number -> String in
        derived.change { $0 += 1 }
        return "\(number)"
      }
    #expect(try await states.collect().map(\.value) == ["10", "10", "20"])
    #expect(derived.value == 2)
  }

  @Test func `the failure of the sequence itself is passed on`() async throws {
    let states = elements([State.loaded(1, 1)], thenThrow: Broken()).mapValues { $0 }
    await #expect(throws: Broken.self) { try await states.collect() }
  }

  @Test func `repeated load states distinguish their values`() async throws {
    let triggers = ScriptedSequence<Void>()
    let states = Runs().first().loadStates().repeated(on: triggers, clock: TestClock())
    let reader = Reader(states.mapValues { $0 }.mapValues { $0 })
    var values: [Int] = []
    var revisions: [UInt64] = []
    for count in 0..<4 {
      if count == 2 { triggers.send(()) }
      guard let state = try await reader.next() else { break }
      revisions.append(state.revision)
      if let value = state.value { values.append(value) }
    }
    #expect(values == [1, 1, 2])
    #expect(revisions == [0, 1, 2, 3])
    await reader.cancel()
  }

  @Test func `over a reactor a failed refresh derives nothing, and a removal drops what was derived`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .response(.serviceUnavailable))
    let derived = Shared(0)
    var texts = bench.notes.states(for: "note").mapValues { note -> String? in
      derived.change { $0 += 1 }
      return note.text
    }.makeAsyncIterator()
    #expect(await texts.first { $0.fetchStatus == .idle }?.value == "one")
    await bench.notes.invalidate("note")
    let failed = await texts.first { $0.error != nil }
    #expect(failed?.value == "one" && failed?.error?.status == 503)
    #expect(derived.value == 1)
    try await bench.notes.remove("note")
    #expect(await texts.next(isolation: nil)?.value == nil)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `states made by hand, which do not number their values, are each derived from`() async throws {
    let states = elements([State(value: 1), State(value: 2), State(value: 2, fetchStatus: .fetching)])
    let derived = try await states.mapValues { $0 * 10 }.collect()
    #expect(derived.map(\.value) == [10, 20, 20])
  }

  @Test func `what follows in place of another sequence is another value`() async throws {
    let one = elements([1]).loadStates()
    let two = elements([2]).loadStates()
    var read: [State] = []
    for states in [one, two] { read += try await states.collect().filter { $0.value != nil } }
    let derived = try await elements(read).mapValues { $0 * 10 }.collect()
    #expect(derived.map(\.value) == [10, 20])
  }
}

extension Runs {
  /// Only each run's number: a run that ends.
  fileprivate func first() -> AsyncPrefixSequence<Runs> { prefix(1) }
}
