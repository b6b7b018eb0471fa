import Foundation
import HTTPTypes
import ReactorCore
import Testing

@testable import ReactorLive

@Suite("The state of a stream of changes") struct LiveStateTests {
  private var state = LiveState(LiveConfiguration(), .changes, random: SplitMix64(seed: 1))
  private let changed = KeySet(urls: ["https://api.example.com/1"])

  private static func hello(_ head: String, resumed: Bool = false, heartbeat: Duration? = .seconds(15)) -> LiveSignal {
    .hello(LiveHello(isResumed: resumed, head: LivePosition(head), heartbeat: heartbeat))
  }

  /// Opens a stream and greets it.
  private mutating func begin(_ head: String = "a.5", resumed: Bool = false, at time: Duration = .zero) -> [LiveState
    .Action]
  {
    if state.connection == 0 { _ = state.observed(true, at: time) }
    _ = state.opened(state.connection, .stream, at: time)
    return state.received(state.connection, Self.hello(head, resumed: resumed), id: "", at: time)
  }

  private static func refusal(_ code: Int) -> ReactorError {
    .server(HTTPResponse(status: .init(code: code)), body: Data())
  }

  @Test mutating func `nothing is opened until something is observed, and the stream lingers after the last`() {
    #expect(state.status.description == "off: nothing is observed")
    #expect(kinds(state.observed(true, at: .zero)) == ["connect "])
    _ = begin()
    #expect(state.observed(false, at: .seconds(1)).isEmpty)
    #expect(state.time(.seconds(30)).isEmpty)
    // Observed again in time.
    #expect(state.observed(true, at: .seconds(30)).isEmpty)
    state.heardAt(.seconds(60))
    #expect(state.time(.seconds(61)).isEmpty)
    _ = state.observed(false, at: .seconds(62))
    #expect(kinds(state.time(.seconds(92))) == ["disconnect"])
    // The position is kept.
    #expect(kinds(state.observed(true, at: .seconds(500))) == ["connect a.5"])
  }

  @Test mutating func `a first connection marks everything, and a resumed one marks what it repeats`() {
    #expect(kinds(begin("a.5")) == ["markCovered"])
    #expect(state.status.isLive)
    _ = state.ended(state.connection, nil, at: .seconds(20))
    _ = state.time(.seconds(90))
    #expect(kinds(begin("a.7", resumed: true, at: .seconds(90))) == [])
    #expect(state.status.description == "catching up")
    #expect(
      kinds(
        state.received(state.connection, .changed([LiveChange(changed)], spread: .zero), id: "a.6", at: .seconds(91)))
        == ["mark"])
    #expect(!state.status.isLive)
    _ = state.received(state.connection, .changed([LiveChange(changed)], spread: .zero), id: "a.7", at: .seconds(91))
    #expect(state.status.isLive)
  }

  @Test(arguments: [("b.5", true), ("a.5", false)])
  mutating func `another history, or a forgotten place, marks everything`(_ head: String, _ isResumed: Bool) {
    _ = begin("a.5")
    _ = state.ended(state.connection, nil, at: .seconds(20))
    _ = state.time(.seconds(90))
    #expect(kinds(begin(head, resumed: isResumed, at: .seconds(90))) == ["markCovered"])
    #expect(state.lastEventID == head)
  }

  @Test mutating func `an event is applied once, and one of another history is a gap`() {
    _ = begin("a.5")
    let event = LiveSignal.changed([LiveChange(changed)], spread: .zero)
    #expect(kinds(state.received(state.connection, event, id: "a.6", at: .zero)) == ["mark"])
    #expect(kinds(state.received(state.connection, event, id: "a.6", at: .zero)) == [])
    #expect(kinds(state.received(state.connection, event, id: "a.4", at: .zero)) == [])
    #expect(state.lastEventID == "a.6")
    #expect(kinds(state.received(state.connection, event, id: "z.1", at: .zero)) == ["markCovered"])
    #expect(state.lastEventID == "z.1")
    #expect(kinds(state.received(state.connection, .gap(), id: "z.1", at: .zero)) == ["markCovered"])
  }

  @Test mutating func `reports of an earlier connection are dropped`() {
    _ = begin("a.5")
    let old = state.connection
    _ = state.reconnect(at: .zero)
    #expect(kinds(state.received(old, .changed([LiveChange(changed)], spread: .zero), id: "a.6", at: .zero)) == [])
    #expect(kinds(state.opened(old, .stream, at: .zero)) == [])
    #expect(kinds(state.ended(old, nil, at: .zero)) == [])
    #expect(state.lastEventID == "a.5")
  }

  @Test mutating func `a sign-out ends the stream, forgets its place, and connects only once it is over`() {
    _ = begin("a.5")
    #expect(kinds(state.clear()) == ["disconnect"])
    #expect(kinds(state.reconnect(at: .zero)) == [])
    #expect(kinds(state.time(.seconds(90))) == [])
    #expect(kinds(state.cleared(at: .zero)) == ["connect "])
  }

  @Test mutating func `a server that greets and closes is asked ever less often, and so is one that went back`() {
    var waits: [Double] = []
    var time = Duration.zero
    for _ in 0..<30 {
      _ = begin("a.5", resumed: true, at: time)
      _ = state.ended(state.connection, nil, at: time)
      let endedAt = time
      // The end of the grace for polling may come first.
      while let next = state.deadline, state.status.description != "catching up" {
        time = max(time, next)
        _ = state.time(time)
      }
      waits.append((time - endedAt) / .seconds(1))
    }
    #expect(waits.dropFirst(10).contains { $0 > 15 })
    #expect(kinds(begin("a.3", resumed: true, at: time)) == ["markCovered"])
    #expect(state.lastEventID == "a.3")
  }

  @Test mutating func `a stream that is always open is opened again after a sign-out, without an observer`() {
    var configuration = LiveConfiguration()
    configuration.opens = .always
    state = LiveState(configuration, .changes, random: SplitMix64(seed: 1))
    _ = begin("a.5")
    #expect(state.observed(false, at: .seconds(1)).isEmpty)
    _ = state.clear()
    #expect(kinds(state.cleared(at: .zero)) == ["connect "])
  }

  @Test mutating func `a stream without a sign of life is replaced after two and a half heartbeats`() {
    _ = begin("a.5")
    #expect(state.deadline == .seconds(37.5))
    state.heard(state.connection, position: "a.5", at: .seconds(30))
    #expect(state.time(.seconds(60)).isEmpty)
    #expect(kinds(state.time(.seconds(67.5))) == ["disconnect"])
    #expect(!state.status.isLive)
  }

  @Test mutating func `a server that does not greet in time is tried again`() {
    _ = state.observed(true, at: .zero)
    _ = state.opened(state.connection, .stream, at: .zero)
    #expect(state.deadline == .seconds(10))
    #expect(kinds(state.time(.seconds(10))) == ["disconnect"])
  }

  @Test mutating func `a server that sends no head in time is tried again, and its late head is dropped`() {
    _ = state.observed(true, at: .seconds(5))
    let old = state.connection
    #expect(state.deadline == .seconds(15))
    #expect(state.time(.seconds(14.9)).isEmpty)
    #expect(kinds(state.time(.seconds(15))) == ["disconnect"])
    #expect(state.status.description.hasPrefix("interrupted"))
    _ = state.opened(old, .stream, at: .seconds(15))
    #expect(state.status.description.hasPrefix("interrupted"))
    _ = state.time(.seconds(17))
    #expect(state.deadline.map { $0 > .seconds(25) } == true)
  }

  @Test mutating func `a sign-in opens a stream that is being opened anew, and a late 401 is of the credential before`()
  {
    _ = state.observed(true, at: .zero)
    let old = state.connection
    #expect(kinds(state.signedIn(at: .zero)) == ["disconnect", "connect "])
    #expect(state.ended(old, Self.refusal(401), status: 401, at: .zero).isEmpty)
    #expect(state.status.description == "catching up")
    _ = begin("a.5")
    #expect(state.signedIn(at: .zero).isEmpty)
    _ = state.reconnect(at: .zero)
    _ = state.ended(state.connection, Self.refusal(401), status: 401, at: .zero)
    #expect(kinds(state.signedIn(at: .zero)) == ["disconnect", "connect a.5"])
  }

  @Test mutating func `a server of another format may take its time for the head`() {
    state = LiveState(LiveConfiguration(), LiveMapping { _ in [] }, random: SplitMix64(seed: 1))
    _ = state.observed(true, at: .zero)
    #expect(state.deadline == nil)
    #expect(state.time(.seconds(40)).isEmpty)
    state = LiveState(LiveConfiguration(), LiveMapping(heartbeat: .seconds(8)) { _ in [] }, random: SplitMix64(seed: 1))
    _ = state.observed(true, at: .zero)
    #expect(state.time(.seconds(19)).isEmpty)
    #expect(kinds(state.time(.seconds(20))).first == "disconnect")
  }

  @Test mutating func `waits double to a minute, and ten seconds of life make the next failure a first one`() {
    _ = state.observed(true, at: .zero)
    var ceilings: [Double] = []
    var time = Duration.zero
    for _ in 0..<40 {
      _ = state.ended(state.connection, Self.refusal(503), status: 503, at: time)
      let wait = (state.deadline ?? time) - time
      ceilings.append(wait / .seconds(1))
      time += wait
      _ = state.time(time)
    }
    #expect(ceilings.first.map { $0 <= 2 } == true)
    #expect(ceilings.allSatisfy { $0 <= 60 })
    #expect(ceilings.dropFirst(8).contains { $0 > 20 })
    _ = begin(at: time)
    _ = state.ended(state.connection, .timedOut, at: time + .seconds(11))
    let wait = (state.deadline ?? .zero) - time - .seconds(11)
    #expect(wait <= .seconds(2))
  }

  @Test mutating func `a server that accepts and closes at once is asked ever less often`() {
    _ = state.observed(true, at: .zero)
    var time = Duration.zero
    for _ in 0..<200 {
      _ = state.opened(state.connection, .stream, at: time)
      _ = state.ended(state.connection, nil, at: time)
      time = max(time, state.nextRetry ?? time)
      _ = state.time(time)
    }
    // With full jitter, the mean of the long waits is 30 s.
    #expect(time > .seconds(3_000))
  }

  @Test(arguments: [
    (204, "off: the server has ended the stream (204)"), (401, "off: the server refuses the credential"),
    (403, "off: "), (404, "off: "), (410, "interrupted"), (408, "interrupted"), (429, "interrupted"),
    (500, "interrupted"), (503, "interrupted"),
  ])
  mutating func `a status decides whether the stream is opened again by itself`(_ code: Int, _ description: String) {
    _ = state.observed(true, at: .zero)
    if code == 204 {
      _ = state.opened(state.connection, .ended, at: .zero)
    } else {
      _ = state.ended(state.connection, Self.refusal(code), status: code, at: .zero)
    }
    #expect(state.status.description.hasPrefix(description))
    #expect((state.deadline != nil) == description.hasPrefix("interrupted"))
    #expect(kinds(state.reconnect(at: .zero)) == ["disconnect", "connect "])
  }

  @Test mutating func `a page in place of the stream is told at first, and later is a network to sign in to`() {
    _ = state.observed(true, at: .zero)
    _ = state.opened(state.connection, .other(contentType: "text/html"), at: .zero)
    #expect(state.status.description == "off: the response is text/html, not text/event-stream")
    _ = state.reachable(false, at: .zero)
    #expect(kinds(state.reachable(true, at: .zero)) == ["connect "])
    _ = begin()
    _ = state.ended(state.connection, .timedOut, at: .seconds(20))
    _ = state.time(.seconds(90))
    _ = state.opened(state.connection, .other(contentType: "text/html"), at: .seconds(90))
    #expect(state.status.description.hasPrefix("interrupted"))
  }

  @Test mutating func `a wait that the server asks for is kept, and connectivity makes it over`() {
    _ = state.observed(true, at: .zero)
    _ = state.ended(state.connection, Self.refusal(503), status: 503, pause: .seconds(120), at: .zero)
    #expect(state.deadline == .seconds(120))
    _ = state.reachable(false, at: .seconds(1))
    #expect(state.deadline == nil)
    #expect(kinds(state.reachable(true, at: .seconds(5))) == ["connect "])
  }

  @Test mutating func `polling stays rare for ten seconds of an interruption`() {
    _ = begin()
    #expect(state.limitsPolling)
    _ = state.ended(state.connection, .timedOut, at: .seconds(1))
    #expect(state.limitsPolling)
    _ = state.time(.seconds(11))
    #expect(!state.limitsPolling)
  }

  @Test mutating func `a server of another format counts each reconnection as a gap, unless it repeats`() {
    for (resumes, expected) in [(false, ["markCovered"]), (true, [])] {
      var state = LiveState(
        LiveConfiguration(), LiveMapping(resumes: resumes) { _ in [] }, random: SplitMix64(seed: 1))
      _ = state.observed(true, at: .zero)
      #expect(kinds(state.opened(state.connection, .stream, at: .zero)) == ["markCovered"])
      state.heard(state.connection, position: "opaque", at: .zero)
      _ = state.ended(state.connection, .timedOut, at: .seconds(20))
      #expect(kinds(state.time(.seconds(90))) == ["connect opaque"])
      #expect(kinds(state.opened(state.connection, .stream, at: .seconds(90))) == expected)
    }
  }

  private func kinds(_ actions: [LiveState.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .connect(_, let request): "connect \(request.lastEventID)"
      case .disconnect: "disconnect"
      case .mark: "mark"
      case .markCovered: "markCovered"
      }
    }
  }
}

extension LiveState {
  fileprivate mutating func heardAt(_ time: Duration) { heard(connection, position: lastEventID, at: time) }

  /// The time of the next attempt, without the end of the grace for polling.
  fileprivate var nextRetry: Duration? {
    var copy = self
    _ = copy.time(.zero)
    return copy.deadline
  }
}
