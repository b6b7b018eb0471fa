import Foundation
import HTTPCaching
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
    var state = FleetState()
    state.start(at: .zero)
    _ = state.heardBeat(at: .zero)
    state.note(key, url, receivedAt: date, version(10), latest: version(10), asked: state.epoch)
    return state
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

  @Test func `what is read late is not trusted after a fence that was heard before`() {
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
    state.tick(at: .milliseconds(2_499), trust: .seconds(10))
    #expect(state.link == .following)
    state.tick(at: .milliseconds(2_500), trust: .seconds(10))
    #expect(state.link == .blind(since: .zero) && state.vouches(for: key, head))
    state.tick(at: .seconds(10), trust: .seconds(10))
    #expect(state.link == .alone && !state.vouches(for: key, head))
    let isBack = state.heardBeat(at: .seconds(11))
    #expect(isBack && state.link == .following && !state.vouches(for: key, head))
  }

  @Test func `a message is as late as the first beat that was not heard yet, and one that was not sent is not late`() {
    var state = following
    #expect(state.statistics.messageDelay == nil)
    state.sendsBeat(at: .seconds(1))
    state.sendsBeat(at: .seconds(2))
    _ = state.heardBeat(at: .milliseconds(2_300))
    #expect(state.statistics.messageDelay == .milliseconds(1_300))
    state.sendsBeat(at: .seconds(3))
    state.failedBeat(.unavailable("away"))
    _ = state.heardBeat(at: .seconds(4))
    #expect(state.statistics.messageDelay == .milliseconds(1_300))
    state.sendsBeat(at: .seconds(5))
    state.lostFeed(at: .seconds(6))
    state.sendsBeat(at: .seconds(9))
    _ = state.heardBeat(at: .milliseconds(9_100))
    #expect(state.statistics.messageDelay == .milliseconds(100))
  }

  @Test func `who was blind for a moment has to look, too`() {
    var state = following
    state.lostFeed(at: .seconds(1))
    #expect(state.vouches(for: key, head))
    let isBack = state.heardBeat(at: .seconds(2))
    #expect(isBack && !state.vouches(for: key, head))
  }

  @Test func `another store gets the fences of the last minute again, and an emptied one needs none`() {
    var state = following
    /// Returns the fences that are sent again.
    func learn(_ store: String, _ generation: String) -> [FleetVersion] {
      state.learn(FleetPulse(store: store, generations: [generation]), of: ["all"], since: .zero).map(\.version)
    }
    var replayed = learn("1", "g")
    state.fence(url, version(20), at: .zero)
    replayed += learn("1", "g")
    #expect(replayed.isEmpty)
    replayed = learn("2", "g")
    #expect(replayed == [version(20)])
    #expect(!state.vouches(for: key, head))
    replayed = learn("3", "h")
    state.tick(at: .seconds(61), trust: .seconds(100))
    replayed += learn("4", "h")
    #expect(replayed.isEmpty)
  }

  @Test func `fences that went to a generation which was over already are sent again`() {
    var state = following
    let fence = FleetState.PendingFence(url: "a", scope: .shared, removes: false)
    func learn(_ generation: String, since began: Duration) -> [FleetState.PendingFence] {
      _ = state.learn(FleetPulse(store: "1", generations: [generation]), of: ["all"], since: began)
      return state.pending
    }
    #expect(learn("g", since: .seconds(1)).isEmpty)
    state.sent(fence, 0, at: .seconds(2))
    // One that was sent during a beat may have come after it.
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
    _ = state.learn(FleetPulse(store: "1", generations: ["old"]), of: ["all"], since: .zero)
    state.renewals.insert("all")
    state.renewed("all", "new")
    _ = state.learn(FleetPulse(store: "1", generations: ["old"]), of: ["all"], since: .zero)
    #expect(state.generations["all"] == "new")
  }

  @Test func `before it runs everything is trusted, as without a fleet`() {
    var state = FleetState()
    #expect(state.vouches(for: key, head))
    state.start(at: .zero)
    #expect(!state.vouches(for: key, head))
    state.stop()
    #expect(state.vouches(for: key, head))
  }

  @Test func `a fence waits once, and the oldest goes first`() {
    var state = FleetState()
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
    // Rather everything is removed than one change is lost.
    #expect(state.pending.isEmpty && state.renewals == [Fleet.allScopes])
  }
}
