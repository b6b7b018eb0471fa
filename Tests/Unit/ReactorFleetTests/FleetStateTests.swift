import Foundation
import HTTPCachingProxy
import HTTPTypes
import Testing

@testable import ReactorFleet

@Suite("What a server knows of its fleet")
struct FleetStateTests {
  private let key = RecordKey(method: .get, url: "https://api.example.com/a")
  private let url = FleetURLID(text: "a")
  private let date = Date(timeIntervalSinceReferenceDate: 1)

  private func version(_ number: UInt64) -> FleetVersion { FleetVersion(rawValue: number) }

  private var head: Record.Head {
    Record.Head(identity: key.identity, status: .ok, fields: [:], requestedAt: date, receivedAt: date)
  }

  /// A server that follows, and has a copy of version 10.
  private var following: FleetState {
    var state = FleetState(trust: .seconds(10))
    state.start(at: .zero)
    state.openedFeed(at: .zero)
    beat(&state, at: .zero)
    state.note(key, url, receivedAt: date, version(10), latest: version(10), asked: state.epoch)
    return state
  }

  private func beat(_ state: inout FleetState, at now: Duration) {
    state.sendsBeat(1, at: now)
    state.answeredBeat(1, at: now)
    state.heardBeat(1, at: now)
  }

  @Test func `a copy is trusted until a later fence`() {
    var state = following
    #expect(state.vouches(for: key, head))
    state.fence(url, version(9), at: .zero)
    #expect(state.vouches(for: key, head))
    state.fence(url, version(10), at: .zero)
    #expect(!state.vouches(for: key, head))
  }

  @Test func `a copy of another exchange is not trusted`() {
    var other = head
    other.receivedAt += 1
    #expect(!following.vouches(for: key, other))
  }

  @Test func `a record that is read late is not trusted after an earlier fence`() {
    var state = following
    state.fence(url, version(20), at: .zero)
    state.note(key, url, receivedAt: date, version(15), latest: version(15), asked: state.epoch)
    #expect(!state.vouches(for: key, head))
    #expect(state.isFenced(url, FleetVersions(body: version(15))))
    state.note(key, url, receivedAt: date, version(21), latest: version(21), asked: state.epoch)
    #expect(state.vouches(for: key, head))
  }

  @Test func `a newer body at another server has to be compared, and one's own need not`() {
    var state = following
    _ = state.stored(FleetRecordID(url: url, name: "0"), version(10))
    #expect(state.vouches(for: key, head))
    _ = state.stored(FleetRecordID(url: url, name: "0"), version(11))
    #expect(!state.vouches(for: key, head))
  }

  @Test func `silence is a fault: copies are trusted for a while, and then never again without a look`() {
    var state = following
    state.advance(to: .milliseconds(9_999))
    #expect(state.status == .blind && state.vouches(for: key, head) && state.follows(key))
    state.advance(to: .seconds(10))
    #expect(state.status == .alone && !state.vouches(for: key, head) && !state.follows(key))
    beat(&state, at: .seconds(11))
    #expect(state.status == .following && !state.vouches(for: key, head))
  }

  @Test func `a server that starts reports that it is disconnected only with a reason`() {
    var state = FleetState(trust: .seconds(10))
    state.start(at: .zero)
    #expect(state.news() == nil)
    state.openedFeed(at: .zero)
    beat(&state, at: .zero)
    #expect(state.news() == FleetState.Report(status: .following))
    state.told()
    state = FleetState(trust: .seconds(10))
    state.start(at: .zero)
    state.failedBeat(1, .unavailable("away"))
    #expect(state.news() == FleetState.Report(status: .blind, error: .unavailable("away")))
  }

  @Test func `a server that was blind for a moment compares its copies, too`() {
    var state = following
    state.lostFeed(.unavailable("closed"))
    #expect(state.status == .blind && state.vouches(for: key, head))
    state.openedFeed(at: .seconds(2))
    beat(&state, at: .seconds(2))
    #expect(state.status == .following && !state.vouches(for: key, head))
  }

  @Test func `a scope that is forgotten takes its copies along, and no others`() {
    var state = following
    let scope = Scope("user")
    let own = RecordKey(method: .get, url: "https://api.example.com/a", scope: scope)
    let ownHead = Record.Head(identity: own.identity, status: .ok, fields: [:], requestedAt: date, receivedAt: date)
    state.scopes.learn("1", of: Fleet.digest(of: scope), at: .zero)
    state.note(own, FleetURLID(text: "b"), receivedAt: date, version(10), latest: version(10), asked: state.epoch)
    state.forgetScopes(at: .seconds(599))
    #expect(state.vouches(for: own, ownHead))
    _ = state.takeChange()
    state.forgetScopes(at: .seconds(600))
    #expect(!state.vouches(for: own, ownHead) && state.vouches(for: key, head))
    #expect(state.takeChange() == .keys([own]))
    // A record that was compared before is not trusted after it.
    state.note(own, FleetURLID(text: "b"), receivedAt: date, version(10), latest: version(10), asked: state.epoch)
    #expect(!state.vouches(for: own, ownHead))
  }

  @Test func `removals of scopes that wait are bounded`() {
    var state = following
    for number in 0...FleetState.pendingLimit { state.remove("\(number)", at: .zero) }
    #expect(state.renewals == [Fleet.allScopes])
  }

  @Test func `another store gets the fences of the last minute again, and an emptied one needs none`() {
    var state = following
    /// Returns the fences that are sent again.
    func learn(_ store: String, _ generation: String) -> [FleetVersion] {
      state.learn(FleetHeartbeat(store: store, generations: [generation]), of: ["all"], since: .zero).map(\.version)
    }
    var replayed = learn("1", "g")
    state.fence(url, version(20), at: .zero)
    replayed += learn("1", "g")
    #expect(replayed.isEmpty)
    replayed = learn("2", "g")
    #expect(replayed == [version(20)])
    #expect(!state.vouches(for: key, head))
    replayed = learn("3", "h")
    state.forgetFloors(at: .seconds(61))
    replayed += learn("4", "h")
    #expect(replayed.isEmpty)
  }

  @Test func `fences that went to a generation which was over already are sent again`() {
    var state = following
    let fence = FleetState.PendingFence(url: "a", scope: .shared, removes: false)
    func learn(_ generation: String, since began: Duration) -> [FleetState.PendingFence] {
      _ = state.learn(FleetHeartbeat(store: "1", generations: [generation]), of: ["all"], since: began)
      return state.pending
    }
    #expect(learn("g", since: .seconds(1)).isEmpty)
    state.sent(fence, 0, at: .seconds(2))
    // A message that was sent during a heartbeat may have arrived after it.
    #expect(learn("g", since: .seconds(1.9)).isEmpty)
    #expect(learn("h", since: .seconds(3)) == [fence])
    state.sent(fence, 1, at: .seconds(4))
    // The others have heard this one.
    #expect(learn("h", since: .seconds(5)).isEmpty)
    #expect(learn("i", since: .seconds(6)).isEmpty)
    state.sent(fence, 0, at: .seconds(7))
    state.renewed("all", "j")
    #expect(state.pending == [fence])
  }

  @Test func `a removal of everything that the store does not know is not undone by a beat`() {
    var state = following
    _ = state.learn(FleetHeartbeat(store: "1", generations: ["old"]), of: ["all"], since: .zero)
    state.remove("all", at: .zero)
    let removed = state.scopes["all"]
    _ = state.learn(FleetHeartbeat(store: "1", generations: ["old"]), of: ["all"], since: .zero)
    #expect(removed != "old" && state.scopes["all"] == removed)
  }

  @Test func `before a fleet runs, every copy is trusted, as without a fleet`() {
    var state = FleetState(trust: .seconds(10))
    #expect(state.vouches(for: key, head))
    state.start(at: .zero)
    #expect(!state.vouches(for: key, head))
    state.stop()
    #expect(state.vouches(for: key, head))
  }

  @Test func `a fence waits once, and the oldest goes first`() {
    var state = FleetState(trust: .seconds(10))
    let (stale, gone) = (
      FleetState.PendingFence(url: "a", scope: .shared, removes: false),
      FleetState.PendingFence(url: "a", scope: .shared, removes: true)
    )
    for fence in [stale, stale, gone, stale] { state.keep(fence) }
    var sent: [FleetState.PendingFence] = []
    while let next = state.pending.first {
      sent.append(next)
      state.sent(next, state.pendingCount(of: next), at: .zero)
    }
    #expect(sent == [stale, gone])
    state.keep(stale)
    let count = state.pendingCount(of: stale)
    // Another one fails while it is sent.
    state.keep(stale)
    state.sent(stale, count, at: .zero)
    #expect(state.pending == [stale])
  }

  @Test func `fences are bounded`() {
    var state = following
    let epoch = state.epoch
    for number in 0...FleetState.floorLimit { state.fence(FleetURLID(text: "\(number)"), version(1), at: .zero) }
    // Forgotten fences make every copy one to look at.
    #expect(state.epoch == epoch + 1)
    for number in 0...FleetState.pendingLimit {
      state.keep(FleetState.PendingFence(url: "\(number)", scope: .shared, removes: false))
    }
    // Removing everything is better than losing one change.
    #expect(state.pending.isEmpty && state.renewals == [Fleet.allScopes])
  }
}
