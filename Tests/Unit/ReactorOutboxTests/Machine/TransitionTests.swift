import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import TestSupport
import Testing

/// The tables of `OutcomesOfAWrite.md` are this suite's input, so that they say what is.
@Suite struct `The transitions of an entry` {
  private static let matrix = OutcomePage.tables.first { $0.heading.first == "" }
  private static let states = [
    "waiting": "waiting; POST; key; attempts: 0", "sending": "POST; key; first: 0",
    "sending, in doubt": "POST; key; attempts: 2; first: -9; in doubt",
    "unknown": "unknown; POST; key; attempts: 1; first: -9; in doubt", "conflicted": "conflicted; POST; key; first: -9",
    "refused": "refused; POST; key; first: -9", "unresolved": "unresolved; POST; key; first: -9; in doubt",
    "accepted": "accepted; POST; key; first: -9",
  ]

  @Test func `the page has its tables, and all are read`() throws {
    let headings = OutcomePage.tables.map(\.heading)
    #expect(headings.count == 7)
    #expect(headings.first == ["Section", "Rule", "Attempt", "Answer", "Outcome"])
    #expect(headings.dropFirst(2).allSatisfy { $0 == ["Rule", "Entry", "Event", "Then"] })
    #expect(OutcomePage.rows("Rule", "Entry", "Event", "Then").count > 70)
    let matrix = try #require(Self.matrix)
    #expect(Set(matrix.rows.map { $0[0] }) == Set(Self.states.keys))
    let inDoubt = OutboxEntry.State.allCases.count + 1
    #expect(matrix.rows.count == inDoubt)
    #expect(
      matrix.heading.dropFirst()
        == [
          "turn", "accepted", "refused", "conflict", "later", "unsent", "sign in", "unknown", "diverted", "restart",
          "retry",
        ])
    #expect(matrix.rows.allSatisfy { $0.count == matrix.heading.count })
    #expect(matrix.rows.flatMap { $0.dropFirst() }.count { !$0.isEmpty } == 29)
  }

  @Test(arguments: matrix?.rows ?? [])
  func `each cell of a row is what happens`(row: [String]) throws {
    let heading = try #require(Self.matrix).heading
    for (event, cell) in zip(heading, row).dropFirst() where !cell.isEmpty {
      var example = try TransitionExample(cell: try #require(Self.states[row[0]]))
      _ = try example.apply(event)
      #expect(example.entry.state.rawValue == cell, "\(event)")
    }
  }

  @Test(arguments: OutcomePage.rows("Rule", "Entry", "Event", "Then"))
  func `a rule is what its row says`(row: [String]) throws {
    var example = try TransitionExample(cell: row[1])
    let consequences = try example.apply(row[2].filter { $0 != "`" })
    for (index, part) in OutcomePage.parts(row[3]).enumerated() {
      let text = part.value.isEmpty ? part.name : "\(part.name): \(part.value)"
      if index == 0 || ["ends", "again", "rebases", "asks", "signs in"].contains(text) {
        #expect(consequences.contains(text), "\(row[0])")
      } else {
        #expect(try example.words(like: part.name).contains(text), "\(row[0])")
      }
    }
  }

  @Test func `an ended entry has the time of its end, and no other`() throws {
    for event in ["accepted", "refused"] {
      var example = try TransitionExample(cell: "POST; key")
      _ = try example.apply(event)
      #expect(example.entry.endedAt == OutcomePage.now)
      #expect(example.entry.notBefore == nil)
    }
    var waiting = try TransitionExample(cell: "POST; key")
    _ = try waiting.apply("unsent")
    #expect(waiting.entry.endedAt == nil)
    _ = try waiting.apply("turn")
    #expect(waiting.entry.notBefore == nil)
    var refused = try TransitionExample(cell: "POST; key")
    _ = try refused.apply("refused")
    _ = try refused.apply("retry")
    #expect(refused.entry.endedAt == nil)
  }

  @Test func `an attempt without an answer leaves the status of the latest one`() throws {
    var example = try TransitionExample(cell: "POST; key")
    _ = try example.apply("503")
    _ = try example.apply("turn")
    _ = try example.apply("unsent")
    #expect(example.entry.outcome?.status == 503)
    #expect(example.entry.outcome?.kind == .unsent)
  }

  @Test func `a random backoff is between zero and its ceiling`() throws {
    for (random, wait) in [(0.0, 0.0), (0.5, 2), (1, 4)] {
      var entry = try TransitionExample(cell: "POST; key; attempts: 4").entry
      let consequence = entry.end(
        .later(after: nil), status: 503, reason: "", at: OutcomePage.now, OutboxEntry.Limits(), random: random)
      #expect(consequence == .again)
      #expect(entry.notBefore == OutcomePage.now + wait)
    }
  }

  @Test func `each new key is another one`() throws {
    let entry = try TransitionExample(cell: "refused; POST; key").entry
    let keys = (0..<100).map { _ in
      var copy = entry
      copy.retry(at: OutcomePage.now, keepsRequest: false, newKey: OutboxEntry.Limits().newKey)
      return copy.idempotencyKey
    }
    #expect(Set(keys).count == 100)
    #expect(!keys.contains("old"))
  }

  @Test func `the transitions of an entry counts of a damaged entry do not overflow`() throws {
    for count in [Int.max, .min, -1] {
      var example = try TransitionExample(cell: "waiting; POST; key; attempts: 0")
      (example.entry.attempts, example.entry.unsent, example.entry.conflicts) = (count, count, count)
      for event in ["turn", "unsent", "turn", "401", "turn", "conflict"] { _ = try example.apply(event) }
      var kept = try TransitionExample(cell: "PUT; key")
      kept.entry.attempts = count
      _ = try kept.apply("unknown")
      #expect(kept.entry.state == (count == .max ? .unresolved : .unknown))
    }
  }

  @Test func `a damaged entry that has been in flight since an unknown time is unresolved`() throws {
    var example = try TransitionExample(cell: "POST; submitted: -100")
    example.entry.firstAttemptAt = nil
    _ = try example.apply("restart")
    #expect(try example.apply("turn") == ["unresolved"])
  }

  @Test(arguments: [0, -1, 1]) func `a policy with fewer attempts than one allows one`(_ attempts: Int) throws {
    var example = try TransitionExample(cell: "PUT; attempts: 0; waiting")
    example.limits.retry.attempts = attempts
    #expect(try example.apply("turn") == ["sending"])
    #expect(try example.apply("unknown") == ["unresolved", "ends"])
  }
}
