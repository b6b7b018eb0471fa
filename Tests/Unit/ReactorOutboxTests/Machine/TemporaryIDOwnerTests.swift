import Foundation
import ReactorCore
import Testing

@testable import ReactorOutbox

@Suite struct `The entry that gives an id` {
  private let id = TemporaryID()
  private var gives: String { #"{"id":"\#(id)","title":"a"}"# }
  private var holds: String { #"{"post":"\#(id)"}"# }
  private var counts: String { #"{"post":\#(id.int)}"# }

  private func noted(_ entries: OutboxEntry...) -> TemporaryIDs {
    entries.reduce(into: TemporaryIDs()) { $0.note($1) }
  }

  /// The number of the entry that `number` waits for.
  private func owner(_ ids: TemporaryIDs, awaitedBy number: UInt64) -> UInt64? {
    ids.owner(awaitedBy: .numbered(number)).map(\.number)
  }

  @Test func `the first entry that has the id as a string supplies it`() {
    let ids = noted(.numbered(1, gives), .numbered(2, holds), .numbered(3, counts), .numbered(4))
    #expect((1...4).map { owner(ids, awaitedBy: $0) } == [nil, 1, 1, nil])
    #expect(ids.holders(ofIDsOf: .numbered(1)) == [.numbered(2), .numbered(3)])
    #expect(ids.holders(of: id.string) == [.numbered(1), .numbered(2), .numbered(3)])
    #expect(ids.firstID(ofIDsOf: .numbered(1)) == id.string)
    #expect(ids.firstID(ofIDsOf: .numbered(2)) == nil)
  }

  @Test func `the entry that gives an id is the same in whatever order they are noted`() {
    let entries = [
      OutboxEntry.numbered(1, gives), .numbered(2, holds), .numbered(3, counts),
      .numbered(4, holds, state: .unresolved),
    ]
    for order in entries.permutations {
      let ids = order.reduce(into: TemporaryIDs()) { $0.note($1) }
      #expect((1...4).map { owner(ids, awaitedBy: $0) } == [nil, 1, 1, 1])
      #expect(ids.holders(ofIDsOf: .numbered(1)) == [.numbered(2), .numbered(3)])
    }
  }

  @Test func `the entry that gives an id does not wait for its own id, however it holds it`() {
    let ids = noted(.numbered(1, #"{"id":"\#(id)","number":\#(id.int)}"#))
    #expect(owner(ids, awaitedBy: 1) == nil)
    #expect(ids.holders(ofIDsOf: .numbered(1)).isEmpty)
  }

  @Test func `an entry that has only its number does not supply an id`() {
    let ids = noted(.numbered(1, counts), .numbered(2, gives))
    #expect(owner(ids, awaitedBy: 1) == 2)
    #expect(owner(ids, awaitedBy: 2) == nil)
  }

  @Test func `the entry that gives an id never waits in a circle`() {
    let other = TemporaryID()
    let both = #"["\#(id)","\#(other)"]"#
    let ids = noted(.numbered(2, both), .numbered(1, both), .numbered(3, both))
    #expect((1...3).map { owner(ids, awaitedBy: $0) } == [nil, 1, 1])
  }

  @Test func `an entry that has waited for the id in another process does not supply it, wherever it is`() {
    let waits = OutboxEntry.numbered(1, holds).with { $0.awaited = [id.string] }
    let ids = noted(waits, .numbered(2, gives), .numbered(3, holds))
    #expect((1...3).map { owner(ids, awaitedBy: $0) } == [2, nil, 2])
    #expect((1...3).map { ids.isBehindItsGiver(.numbered($0)) } == [true, false, false])
  }

  @Test func `the entry that gives an id is the earliest, if an entry waits for several`() {
    let other = TemporaryID()
    let ids = noted(
      .numbered(1, #"["\#(other)"]"#), .numbered(2, gives), .numbered(3, #"["\#(id)","\#(other)"]"#))
    #expect(owner(ids, awaitedBy: 3) == 1)
  }

  @Test func `the entry that gives an id is waited for after its acceptance, until the others have the server's id`() {
    var ids = noted(.numbered(1, gives), .numbered(2, holds), .numbered(3, counts))
    ids.note(.numbered(1, gives, state: .accepted))
    #expect((1...3).map { owner(ids, awaitedBy: $0) } == [nil, 1, 1])
    ids.note(.numbered(2, #"{"post":7}"#))
    #expect((1...3).map { owner(ids, awaitedBy: $0) } == [nil, nil, 1])
    ids.forget(.numbered(1))
    #expect(owner(ids, awaitedBy: 3) == nil)
    ids.forget(.numbered(3))
    #expect(ids.isEmpty)
    ids.note(.numbered(1, gives, state: .accepted))
    #expect(ids.isEmpty)
  }

  @Test func `the entry that supplies an id is forgotten, and no entry waits any more`() {
    var ids = noted(.numbered(1, gives), .numbered(2, holds), .numbered(3, counts))
    ids.forget(.numbered(1))
    #expect((1...3).allSatisfy { owner(ids, awaitedBy: $0) == nil })
    #expect(ids.holders(of: id.string) == [.numbered(2), .numbered(3)])
    // Entries that waited for an id do not supply it.
    ids.note(.numbered(2, holds))
    #expect(owner(ids, awaitedBy: 3) == nil)
    #expect(ids.missingID(in: .numbered(2)) == id.string)
    // Until they have the server's.
    ids.note(.numbered(2, #"{"post":7}"#))
    #expect(ids.missingID(in: .numbered(2)) == nil)
    #expect(ids.holders(of: id.string) == [.numbered(3)])
  }

  @Test func `the entry that supplies an id is kept after a refusal until its waiters are refused, too`() {
    var ids = noted(.numbered(1, gives), .numbered(2, holds), .numbered(3, holds))
    ids.note(.numbered(1, gives, state: .refused))
    #expect(ids.holders(ofIDsOf: .numbered(1)) == [.numbered(2), .numbered(3)])
    ids.note(.numbered(2, holds, state: .refused))
    // A refused entry is not refused again.
    #expect(ids.holders(ofIDsOf: .numbered(1)) == [.numbered(3)])
    ids.release(.numbered(1))
    #expect(ids.holders(ofIDsOf: .numbered(1)).isEmpty)
    #expect(owner(ids, awaitedBy: 3) == nil)
  }

  @Test func `the same entry supplies the id after a refusal and a retry, whichever is retried first`() {
    for holderIsFirst in [true, false] {
      var ids = noted(.numbered(1, gives), .numbered(2, holds))
      ids.note(.numbered(1, gives, state: .refused))
      ids.note(.numbered(2, holds, state: .refused))
      ids.release(.numbered(1))
      ids.release(.numbered(2))
      let owner = OutboxEntry.numbered(1, gives).with { $0.number = holderIsFirst ? 12 : 11 }
      let holder = OutboxEntry.numbered(2, holds).with { $0.number = holderIsFirst ? 11 : 12 }
      for entry in holderIsFirst ? [holder, owner] : [owner, holder] { ids.note(entry) }
      #expect(self.owner(ids, awaitedBy: 1) == nil)
      #expect(self.owner(ids, awaitedBy: 2) == 1)
    }
  }

  @Test func `the entry that gives an id is given to refused entries as well, so that their retry has it`() {
    let other = TemporaryID()
    // It supplies an id, and contains another's.
    let refused = OutboxEntry.numbered(2, #"{"id":"\#(other)","post":"\#(id)"}"#, state: .refused)
    var ids = noted(.numbered(1, gives), refused)
    #expect(ids.holders(of: id.string) == [.numbered(1), .numbered(2)])
    ids.release(.numbered(2))
    #expect(ids.holders(of: id.string).contains(.numbered(2)))
    // It was added after its refusal, so no entry waits for it.
    ids.note(.numbered(3, #"["\#(other)"]"#))
    #expect(owner(ids, awaitedBy: 3) == nil)
  }

  @Test func `the entry that gives an id is another after the first one was taken back`() {
    var ids = noted(.numbered(1, gives))
    ids.forget(.numbered(1))
    ids.note(.numbered(5, gives))
    ids.note(.numbered(6, holds))
    #expect(owner(ids, awaitedBy: 5) == nil)
    #expect(owner(ids, awaitedBy: 6) == 5)
  }

  @Test func `the entry that gives an id is kept while it is moved`() {
    var ids = noted(.numbered(1, gives, state: .unresolved), .numbered(2, holds))
    #expect(owner(ids, awaitedBy: 2) == 1)
    ids.note(.numbered(1, gives).with { $0.number = 9 })
    #expect(owner(ids, awaitedBy: 2) == 1)
    #expect(owner(ids, awaitedBy: 1) == nil)
  }

  @Test func `an entry that was submitted while another supplied the id never supplies it`() {
    for holder in [holds, counts] {
      var ids = noted(.numbered(1, gives))
      ids.expect(.numbered(2, holder))
      ids.note(.numbered(1, gives, state: .refused))
      ids.release(.numbered(1))
      ids.note(.numbered(2, holder))
      #expect(ids.missingID(in: .numbered(2)) == id.string)
      #expect(ids.holders(ofIDsOf: .numbered(2)).isEmpty)
    }
  }

  @Test func `no entry supplies an id if the entry for it could not be saved`() {
    var ids = TemporaryIDs()
    ids.expect(.numbered(1, gives))
    ids.expect(.numbered(2, holds))
    ids.forget(.numbered(1))
    ids.note(.numbered(2, holds))
    #expect(ids.missingID(in: .numbered(2)) == id.string)
  }

  @Test func `no entry supplies an id after an acceptance without it`() {
    for known in [[:], [id.string: Data("7".utf8)]] {
      var ids = noted(.numbered(1, gives))
      ids.settle(.numbered(1), known)
      ids.expect(.numbered(2, holds))
      ids.note(.numbered(2, holds))
      #expect(ids.missingID(in: .numbered(2)) == (known.isEmpty ? id.string : nil))
    }
  }

  @Test func `an entry that an earlier process refused for lack of the id does not supply it`() {
    let refused = OutboxEntry.numbered(2, holds).refused(forLackOf: id.string, at: .distantPast)
    var ids = noted(.numbered(1, gives, state: .refused), refused)
    ids.note(.numbered(2, holds).with { $0.number = 3 })
    #expect(ids.missingID(in: .numbered(2)) == id.string)
    ids.note(.numbered(1, gives).with { $0.number = 4 })
    #expect(owner(ids, awaitedBy: 2) == 1)
  }

  @Test func `the entry that gives an id is forgotten without a trace`() {
    var ids = noted(.numbered(1, gives), .numbered(2, holds), .numbered(3, counts))
    for number in 1...3 as ClosedRange<UInt64> { ids.forget(.numbered(number)) }
    ids.forget(.numbered(9))
    ids.release(.numbered(9))
    #expect(ids.holders(of: id.string).isEmpty)
    #expect(ids.isEmpty)
  }
}

/// Two ids with one number, which happens once in 10¹⁵ pairs.
@Suite struct `Two ids with one number` {
  // Found by a search among 2²⁹ UUIDs.
  private let one = "tmp-00000000-0000-4000-8000-00000C569EF9"
  private let two = "tmp-00000000-0000-4000-8000-0000192B87DD"
  private var number: Int64 { TemporaryID.number64(of: one) }

  private func noted(_ entries: OutboxEntry...) -> TemporaryIDs {
    entries.reduce(into: TemporaryIDs()) { $0.note($1) }
  }

  @Test func `two ids with one number have one`() {
    #expect(one != two)
    #expect(TemporaryID.isTemporary(one) && TemporaryID.isTemporary(two))
    #expect(TemporaryID.number64(of: two) == number)
  }

  @Test func `two ids with one number are both waited for`() {
    var ids = noted(
      .numbered(1, #"["\#(one)"]"#), .numbered(2, #"["\#(two)"]"#), .numbered(3, "[\(number)]"))
    #expect(ids.owner(awaitedBy: .numbered(3)) == .numbered(1))
    ids.forget(.numbered(1))
    #expect(ids.owner(awaitedBy: .numbered(3)) == .numbered(2))
    ids.forget(.numbered(2))
    #expect(ids.owner(awaitedBy: .numbered(3)) == nil)
  }

  @Test func `two ids with one number are not taken for each other`() {
    let ids = noted(
      .numbered(1, #"["\#(one)"]"#), .numbered(2, #"["\#(two)"]"#), .numbered(3, "[\(number)]"))
    #expect(ids.holders(of: one) == [.numbered(1)])
    let given = [one: Data("1".utf8), two: Data("2".utf8)]
    #expect(TemporaryIDs.rewritten(Data("[\(number)]".utf8), given) == nil)
    #expect(
      TemporaryIDs.rewritten(Data(#"["\#(one)","\#(two)",\#(number)]"#.utf8), given)
        == Data(#"["1","2",\#(number)]"#.utf8))
  }
}

extension Array {
  fileprivate var permutations: [[Element]] {
    guard let first else { return [[]] }
    return Array(dropFirst()).permutations.flatMap { rest in
      (0...rest.count).map { index in
        var rest = rest
        rest.insert(first, at: index)
        return rest
      }
    }
  }
}
