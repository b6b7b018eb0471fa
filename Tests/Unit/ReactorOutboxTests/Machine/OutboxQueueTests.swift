import Foundation
import ReactorCore
import Testing

@testable import ReactorOutbox

@Suite struct `The lanes of an outbox` {
  @Test func `a lane sends one entry after the other`() {
    var queue = OutboxQueue(.numbered(1), .numbered(2), .numbered(3))
    for number in [1, 2, 3] as [UInt64] {
      #expect(queue.turn() == "send \(number)")
      queue.begin(.numbered(number))
      #expect(queue.turn() == "busy")
      queue.put(.numbered(number, state: .sending))
      queue.put(.numbered(number, state: .accepted))
      queue.end(.numbered(number))
    }
    #expect(queue.turn() == "empty")
    #expect(queue.laneNames.isEmpty)
  }

  @Test func `lanes are independent of each other`() {
    var queue = OutboxQueue(.numbered(1, lane: "a"), .numbered(2, lane: "b"), .numbered(3, lane: "a"))
    #expect(queue.laneNames == ["a", "b"])
    queue.begin(.numbered(1))
    #expect(queue.turn("a") == "busy")
    #expect(queue.turn("b") == "send 2")
    #expect(queue.turn("c") == "empty")
    #expect(queue.numbers(in: "a") == [1, 3])
  }

  @Test(arguments: [OutboxEntry.State.refused, .unresolved, .accepted])
  func `an entry that has ended leaves its lane`(_ state: OutboxEntry.State) {
    var queue = OutboxQueue(.numbered(1), .numbered(2))
    queue.put(.numbered(1, state: state))
    #expect(queue.turn() == "send 2")
    #expect(queue.numbers() == [2])
    #expect(queue.entries[.numbered(1)]?.state == state)
    #expect(queue.reason(1) == nil)
    queue.put(.numbered(2, state: state))
    #expect(queue.turn() == "empty")
  }

  @Test(arguments: [OutboxEntry.State.waiting, .unknown, .sending])
  func `an entry that has not ended holds its lane`(_ state: OutboxEntry.State) {
    let queue = OutboxQueue(.numbered(1, state: state), .numbered(2))
    #expect(queue.turn() == "send 1")
    #expect(queue.reason(2) == .turn)
  }

  @Test func `a conflicted entry holds its lane until the program decides`() {
    var queue = OutboxQueue(.numbered(1, state: .conflicted), .numbered(2))
    #expect(queue.turn() == "wait")
    #expect(queue.reason(1) == nil)
    #expect(queue.reason(2) == .turn)
    queue.remove(.numbered(1))
    #expect(queue.turn() == "send 2")
  }

  @Test func `an entry before its creator is passed over, and goes after it`() {
    let id = TemporaryID()
    let other = #"{"post":"\#(id)"}"#
    let waits = OutboxEntry.numbered(1, other).with { $0.awaited = [id.string] }
    var queue = OutboxQueue(waits, .numbered(2), .numbered(3, #"{"id":"\#(id)"}"#))
    #expect(queue.reason(1) == .identity(of: .numbered(3)))
    #expect(queue.turn() == "send 2")
    #expect(queue.mayGo(.numbered(2)))
    #expect(!queue.mayGo(.numbered(1)))
    queue.remove(.numbered(2))
    #expect(queue.turn() == "send 3")
    queue.remove(.numbered(3))
    queue.put(.numbered(1, #"{"post":7}"#))
    #expect(queue.turn() == "send 1")
  }

  @Test func `entries stand in the order of their numbers, however they are put`() {
    var numbers = Array(1...60 as ClosedRange<UInt64>)
    numbers.shuffle()
    var queue = OutboxQueue()
    for number in numbers { queue.put(.numbered(number)) }
    #expect(queue.numbers() == Array(1...60))
  }

  @Test func `an entry with a new number moves to its place`() {
    var queue = OutboxQueue(.numbered(1, state: .refused), .numbered(2), .numbered(3))
    queue.put(.numbered(1).with { $0.number = 4 })
    #expect(queue.numbers() == [2, 3, 1])
    queue.put(.numbered(2).with { $0.number = 5 })
    #expect(queue.numbers() == [3, 1, 2])
    queue.put(.numbered(3, lane: "other"))
    #expect(queue.numbers() == [1, 2])
    #expect(queue.numbers(in: "other") == [3])
  }

  @Test func `a backoff from before the clock was set back does not count`() {
    let noted = Date(timeIntervalSinceReferenceDate: 10_000)
    let entry = OutboxEntry.numbered(1).with {
      $0.notBefore = noted + 300
      $0.outcome = LastOutcome(.later, reason: "busy", date: noted)
    }
    var queue = OutboxQueue()
    queue.put(entry)
    for (seconds, turn) in [(0.0, false), (-59, false), (-61, true), (300, true)] {
      let conditions = OutboxQueue.Conditions(now: noted + seconds, isReachable: true)
      #expect((queue.turn(of: entry.lane, conditions) == .send(entry.id)) == turn)
    }
  }

  @Test func `an entry that is removed is gone, with everything that was noted of it`() {
    var queue = OutboxQueue(.numbered(1), .numbered(2))
    queue.begin(.numbered(1))
    queue.deferLease(.numbered(1), until: OutcomePage.now + 5)
    queue.remove(.numbered(1))
    queue.remove(.numbered(7))
    #expect(queue.turn() == "send 2")
    queue.put(.numbered(1))
    #expect(queue.turn() == "send 1")
  }

  @Test func `ten thousand entries of a lane drain in order`() {
    var queue = OutboxQueue()
    let count: UInt64 = 10_000
    for number in 1...count { queue.put(.numbered(number)) }
    var sent: [UInt64] = []
    while case .send(let id) = queue.turn(of: "main", .init(now: OutcomePage.now, isReachable: true)) {
      queue.begin(id)
      queue.put(.numbered(id.number, state: .sending))
      queue.put(.numbered(id.number, state: .accepted))
      queue.remove(id)
      sent.append(id.number)
    }
    #expect(sent == Array(1...count))
    #expect(queue.entries.isEmpty && queue.laneNames.isEmpty && queue.active.isEmpty)
  }
}

@Suite struct `The reasons why an entry waits` {
  @Test func `nothing is sent while the outbox is paused`() {
    var queue = OutboxQueue(.numbered(1), .numbered(2))
    queue.isPaused = true
    #expect(queue.turn() == "wait")
    #expect(queue.reason(1) == .paused && queue.reason(2) == .paused)
    queue.isPaused = false
    #expect(queue.turn() == "send 1")
  }

  @Test func `nothing is sent before the user has signed in`() {
    var queue = OutboxQueue(.numbered(1), .numbered(2, lane: "other"))
    queue.needsSignIn = true
    #expect(queue.turn() == "wait" && queue.turn("other") == "wait")
    #expect(queue.reason(2) == .signIn)
  }

  @Test func `nothing is sent without connectivity`() {
    let queue = OutboxQueue(.numbered(1), .numbered(2))
    #expect(queue.turn(isReachable: false) == "wait")
    #expect(queue.reason(1, isReachable: false) == .connectivity)
    #expect(queue.reason(2, isReachable: false) == .turn)
    #expect(queue.turn() == "send 1")
  }

  @Test func `a backoff ends at its time`() {
    let entry = OutboxEntry.numbered(1).with { $0.notBefore = OutcomePage.now + 5 }
    let queue = OutboxQueue(entry, .numbered(2))
    #expect(queue.turn() == "wait 5")
    #expect(queue.reason(1) == .backoff(until: OutcomePage.now + 5))
    #expect(queue.reason(2) == .turn)
    #expect(queue.turn(after: 4.5) == "wait 5")
    #expect(queue.turn(after: 5) == "send 1")
  }

  @Test func `a backoff of what could not be sent ends with the return of connectivity`() {
    var unsent = OutboxEntry.numbered(1)
    unsent.notBefore = OutcomePage.now + 5
    unsent.unsent = 3
    unsent.outcome = LastOutcome(.unsent, reason: "", date: OutcomePage.now)
    let later = unsent.with {
      $0 = .numbered(2, lane: "other")
      $0.notBefore = OutcomePage.now + 5
      $0.outcome = LastOutcome(.later, status: 503, reason: "", date: OutcomePage.now)
    }
    var queue = OutboxQueue(unsent, later)
    #expect(queue.reason(1) == .backoff(until: OutcomePage.now + 5))
    queue.forgetUnsentBackoff()
    #expect(queue.turn() == "send 1")
    // The waits continue growing, in case that it comes and goes.
    #expect(queue.entries[.numbered(1)]?.unsent == 3)
    // A server asked for this one.
    #expect(queue.turn("other") == "wait 5")
  }

  @Test func `a date that was noted before the clock was set back does not count`() {
    let year = 365 * 86_400.0
    let entry = OutboxEntry.numbered(1).with { $0.notBefore = OutcomePage.now + year }
    var queue = OutboxQueue(entry, .numbered(2, lane: "other"))
    #expect(queue.turn() == "send 1")
    queue.put(entry.with { $0.notBefore = OutcomePage.now + 86_400 })
    #expect(queue.turn() == "wait 86400")
    queue.deferLease(.numbered(2), until: OutcomePage.now + year)
    #expect(queue.turn("other") == "send 2")
  }

  @Test func `an entry that another process leases is looked at again`() {
    var queue = OutboxQueue(.numbered(1), .numbered(2))
    queue.deferLease(.numbered(1), until: OutcomePage.now + 30)
    #expect(queue.turn() == "wait 30")
    #expect(queue.reason(1) == .turn)
    #expect(queue.turn(after: 30) == "send 1")
  }

  @Test func `an entry that is under way waits for nothing`() {
    var queue = OutboxQueue(.numbered(1))
    queue.isPaused = true
    queue.begin(.numbered(1))
    #expect(queue.reason(1) == nil)
    #expect(queue.turn() == "busy")
    queue.end(.numbered(1))
    #expect(queue.reason(1) == .paused)
    #expect(queue.reason(9) == nil)
  }

  @Test func `an entry waits for the entry that supplies an id, whatever its lane`() {
    let id = TemporaryID()
    var queue = OutboxQueue(
      .numbered(1), .numbered(2, #"{"id":"\#(id)"}"#), .numbered(3, lane: "other", #"{"post":"\#(id)"}"#),
      .numbered(4, lane: "other"))
    #expect(queue.turn("other") == "wait")
    #expect(queue.reason(3) == .identity(of: .numbered(2)))
    #expect(queue.reason(4) == .turn)
    queue.put(.numbered(1, state: .accepted))
    #expect(queue.turn() == "send 2")
    queue.put(.numbered(2, #"{"id":"\#(id)"}"#, state: .accepted))
    queue.put(.numbered(3, lane: "other", #"{"post":7}"#))
    #expect(queue.turn("other") == "send 3")
  }

  @Test func `an entry that is moved still gives its ids`() {
    let id = TemporaryID()
    var queue = OutboxQueue(
      .numbered(1, #"{"id":"\#(id)"}"#, state: .unresolved), .numbered(2, lane: "other", #"{"post":"\#(id)"}"#))
    #expect(queue.reason(2) == .identity(of: .numbered(1)))
    queue.remove(.numbered(1), keepsIDs: true)
    queue.put(.numbered(1, #"{"id":"\#(id)"}"#).with { $0.number = 9 })
    #expect(queue.reason(2) == .identity(of: .numbered(1)))
    #expect(queue.turn() == "send 1")
    queue.remove(.numbered(1))
    #expect(queue.turn("other") == "send 2")
  }

  @Test func `an entry that is retried does not give the id that it has waited for`() {
    let id = TemporaryID()
    let holder = OutboxEntry.numbered(2, lane: "other", #"{"post":"\#(id)"}"#)
    let owner = OutboxEntry.numbered(1, #"{"id":"\#(id)"}"#)
    var queue = OutboxQueue(owner, holder)
    for entry in [owner, holder] { queue.put(entry.with { $0.state = .refused }) }
    queue.identities.release(owner.id)
    for (number, entry) in [(11, holder), (12, owner)] as [(UInt64, OutboxEntry)] {
      queue.remove(entry.id, keepsIDs: true)
      queue.put(entry.with { $0.number = number })
    }
    #expect(queue.turn() == "send 1")
    #expect(queue.reason(2) == .identity(of: .numbered(1)))
  }
}
