import Testing

@testable import ReactorFleet

@Suite("The proof that the others are heard")
struct FleetLinkTests {
  /// A server whose beat of the time zero was answered and heard.
  private var following: FleetLink {
    var link = FleetLink(trust: .seconds(10))
    link.start(at: .zero)
    link.openedFeed(at: .zero)
    beat(&link, 0, at: .zero)
    return link
  }

  private func beat(_ link: inout FleetLink, _ nonce: UInt64, at now: Duration) {
    link.sendsBeat(nonce, at: now)
    _ = link.answeredBeat(nonce, at: now)
    _ = link.heardBeat(nonce, at: now)
  }

  @Test func `a server follows once a beat was answered and heard, in either order`() {
    for isHeardFirst in [true, false] {
      var link = FleetLink(trust: .seconds(10))
      link.start(at: .zero)
      link.openedFeed(at: .zero)
      link.sendsBeat(1, at: .zero)
      let first = isHeardFirst ? link.heardBeat(1, at: .zero) : link.answeredBeat(1, at: .zero)
      #expect(!first && link.status == .blind)
      let second = isHeardFirst ? link.answeredBeat(1, at: .zero) : link.heardBeat(1, at: .zero)
      #expect(second && link.status == .following)
    }
  }

  @Test func `trust in copies expires by the clock, even if no timer has fired`() {
    var link = following
    var hasEnded = link.advance(to: .milliseconds(2_499))
    #expect(!hasEnded && link.status == .following)
    hasEnded = link.advance(to: .milliseconds(2_500))
    #expect(!hasEnded && link.status == .blind)
    hasEnded = link.advance(to: .seconds(10))
    #expect(hasEnded && link.status == .alone)
    link = following
    // A process that was stopped finds everything over at once.
    hasEnded = link.advance(to: .seconds(40))
    #expect(hasEnded && link.status == .alone)
  }

  @Test func `the time counts from the sending of a beat, before which every message has arrived`() {
    var link = following
    link.sendsBeat(1, at: .seconds(1))
    _ = link.answeredBeat(1, at: .seconds(1))
    _ = link.heardBeat(1, at: .seconds(2))
    _ = link.advance(to: .milliseconds(3_499))
    #expect(link.status == .following)
    _ = link.advance(to: .milliseconds(3_500))
    #expect(link.status == .blind)
  }

  @Test func `a refused beat that comes back proves nothing, and its reason is reported`() {
    var link = following
    for second in 1...10 {
      let nonce = UInt64(second)
      link.sendsBeat(nonce, at: .seconds(second))
      if second % 2 == 0 { _ = link.heardBeat(nonce, at: .seconds(second)) }
      link.failedBeat(nonce, .readOnly("a replica"))
      let isBack = link.heardBeat(nonce, at: .seconds(second))
      _ = link.advance(to: .seconds(second))
      #expect(!isBack)
    }
    #expect(link.status == .alone && link.error == .readOnly("a replica"))
    beat(&link, 11, at: .seconds(11))
    #expect(link.status == .following && link.error == nil)
  }

  @Test func `a beat that comes late proves nothing`() {
    var link = following
    link.sendsBeat(1, at: .seconds(1))
    _ = link.answeredBeat(1, at: .seconds(1))
    _ = link.advance(to: .seconds(40))
    let isBack = link.heardBeat(1, at: .seconds(40))
    #expect(!isBack && link.status == .alone)
  }

  @Test func `a connection for messages on which no beat is heard is replaced`() {
    var link = following
    for second in 1...2 {
      link.sendsBeat(UInt64(second), at: .seconds(second))
      _ = link.answeredBeat(UInt64(second), at: .seconds(second))
      #expect(!link.isDeaf(at: .seconds(second)))
    }
    #expect(link.isDeaf(at: .milliseconds(2_500)))
    link.lostFeed(.unavailable("deaf"))
    #expect(!link.isDeaf(at: .seconds(3)) && link.status == .blind && link.error == .unavailable("deaf"))
    link.openedFeed(at: .seconds(3))
    #expect(!link.isDeaf(at: .milliseconds(5_499)) && link.isDeaf(at: .milliseconds(5_500)))
    beat(&link, 3, at: .seconds(5))
    #expect(!link.isDeaf(at: .milliseconds(5_500)) && link.status == .following)
  }

  @Test func `a connection for messages that does not come about is replaced`() {
    var link = FleetLink(trust: .seconds(10))
    link.start(at: .zero)
    link.opensFeed(at: .zero)
    beat(&link, 1, at: .zero)
    #expect(link.status == .blind && !link.isDeaf(at: .milliseconds(4_999)) && link.isDeaf(at: .seconds(5)))
  }

  @Test func `without a connection for messages no beat can be heard, and its error is the reason`() {
    var link = following
    link.lostFeed(.misconfigured("no permission"))
    beat(&link, 1, at: .seconds(1))
    #expect(link.status == .blind && link.error == .misconfigured("no permission"))
    link.openedFeed(at: .seconds(2))
    _ = link.heardBeat(1, at: .seconds(2))
    #expect(link.status == .blind)
  }

  @Test func `a message is as late as the beat that was heard`() {
    var link = following
    link.sendsBeat(1, at: .seconds(1))
    link.sendsBeat(2, at: .seconds(2))
    _ = link.heardBeat(1, at: .milliseconds(2_300))
    #expect(link.messageDelay == .milliseconds(1_300))
    _ = link.heardBeat(2, at: .milliseconds(2_400))
    #expect(link.messageDelay == .milliseconds(400))
    link.failedBeat(3, .unavailable("away"))
    _ = link.heardBeat(3, at: .seconds(9))
    #expect(link.messageDelay == .milliseconds(400))
  }
}
