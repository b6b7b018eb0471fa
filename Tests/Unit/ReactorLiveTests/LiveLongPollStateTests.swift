import Foundation
import HTTPTypes
import ReactorCore
import Testing

@testable import ReactorLive

@Suite("The choice between a stream and long polls") struct LiveLongPollStateTests {
  private var state = LiveState(LiveConfiguration(), .changes, random: SplitMix64(seed: 1))

  /// The time for which each request lets the server wait; `nil` for a stream.
  private static func waits(_ actions: [LiveState.Action]) -> [Duration?] {
    actions.compactMap { if case .connect(_, let request) = $0 { .some(request.wait) } else { nil } }
  }

  /// Lets the time pass to the next request.
  private mutating func next(_ time: inout Duration) -> Duration? {
    for _ in 0..<10 {
      guard let deadline = state.deadline else { break }
      time = max(time, deadline)
      if let wait = Self.waits(state.time(time)).first { return wait }
    }
    Issue.record("no request")
    return nil
  }

  /// Answers the present request with a greeting, and ends the response.
  private mutating func answer(
    _ head: String = "a.1", resumed: Bool = true, wait: Duration? = .seconds(25), at time: Duration
  ) -> [Duration?] {
    let number = state.connection
    _ = state.opened(number, .stream, at: time)
    let hello = LiveHello(
      isResumed: resumed, head: LivePosition(head), heartbeat: .seconds(15), spread: nil, wait: wait)
    _ = state.received(number, .hello(hello), id: "", at: time)
    state.heard(number, position: head, at: time)
    return Self.waits(state.ended(number, nil, at: time))
  }

  /// Changes to long polls, with the first answer.
  private mutating func poll(_ time: inout Duration) {
    _ = state.observed(true, at: time)
    _ = next(&time)
    #expect(next(&time) == .zero)
    _ = answer(resumed: false, at: time)
    #expect(next(&time) == .seconds(25))
  }

  @Test mutating func `a head or a greeting that is missing twice is for long polls, whichever it is`() {
    var time = Duration.zero
    _ = state.observed(true, at: time)
    #expect(next(&time) == nil)
    _ = state.opened(state.connection, .stream, at: time)
    #expect(next(&time) == .zero)
  }

  @Test mutating func `a transport that gives up the head sooner counts as well`() {
    _ = state.observed(true, at: .zero)
    _ = state.ended(state.connection, .timedOut, at: .seconds(5))
    _ = state.time(.seconds(8))
    #expect(Self.waits(state.ended(state.connection, .timedOut, at: .seconds(13))) == [.zero])
  }

  @Test mutating func `a greeting in between is no second silence, and neither is a lost connection`() {
    var time = Duration.zero
    _ = state.observed(true, at: time)
    #expect(next(&time) == nil)
    _ = state.ended(state.connection, .network(URLError(.networkConnectionLost)), at: time)
    #expect(next(&time) == nil)
    let number = state.connection
    _ = state.opened(number, .stream, at: time)
    _ = state.received(
      number, .hello(LiveHello(isResumed: false, head: LivePosition("a.1"), heartbeat: .seconds(15))), id: "", at: time)
    _ = state.ended(number, .timedOut, at: time)
    #expect(next(&time) == nil)
    #expect(next(&time) == nil)
  }

  @Test(arguments: [LiveMapping { _ in [] }, LiveMapping(heartbeat: .seconds(2)) { _ in [] }])
  mutating func `a server of another format is asked for streams only`(_ mapping: LiveMapping) {
    state = LiveState(LiveConfiguration(), mapping, random: SplitMix64(seed: 1))
    _ = state.observed(true, at: .zero)
    for number in 1..<6 {
      #expect(Self.waits(state.ended(state.connection, .timedOut, at: .seconds(100 * number))).isEmpty)
      #expect(Self.waits(state.time(.seconds(100 * number + 70))) == [nil])
    }
  }

  @Test mutating func `the next poll is sent at once after one that took its time, and after a moment otherwise`() {
    var time = Duration.zero
    poll(&time)
    #expect(answer(at: time + .seconds(20)) == [.seconds(25)])
    let number = state.connection
    let start = time + .seconds(20)
    _ = state.opened(number, .stream, at: start)
    let hello = LiveHello(
      isResumed: true, head: LivePosition("a.2"), heartbeat: .seconds(15), spread: nil, wait: .seconds(25))
    _ = state.received(number, .hello(hello), id: "", at: start)
    _ = state.received(number, .changed([], spread: .zero), id: "a.2", at: start)
    #expect(Self.waits(state.ended(number, nil, at: start)).isEmpty)
    time = start
    #expect(next(&time) == .seconds(25))
    #expect(time > start && time <= start + .seconds(2))
  }

  @Test mutating func `a server that answers with nothing at once is asked ever less often`() {
    var time = Duration.zero
    poll(&time)
    let start = time
    for _ in 0..<50 {
      _ = answer(resumed: Bool.random(), at: time)
      _ = next(&time)
    }
    // With full jitter, the mean of the long waits is 30 s.
    #expect(time - start > .seconds(600))
  }

  @Test mutating func `a server that streams all the same is read as a stream`() {
    var time = Duration.zero
    _ = state.observed(true, at: time)
    _ = next(&time)
    _ = next(&time)
    let number = state.connection
    _ = state.opened(number, .stream, at: time)
    _ = state.received(
      number, .hello(LiveHello(isResumed: false, head: LivePosition("a.1"), heartbeat: .seconds(15))), id: "", at: time)
    #expect(state.status.isLive)
    #expect(state.deadline == time + .seconds(37.5))
    _ = state.ended(number, nil, at: time + .seconds(20))
    time += .seconds(20)
    #expect(next(&time) == nil)
  }

  @Test mutating func `a poll without an answer asks for less time, and a stream is tried after the next answer`() {
    var time = Duration.zero
    poll(&time)
    // The time that was asked for, and ten seconds.
    let start = time
    #expect(next(&time) == .seconds(12.5))
    #expect(time >= start + .seconds(35) && time <= start + .seconds(37))
    #expect(answer(wait: .seconds(12), at: time + .seconds(12)) == [nil])
    time += .seconds(12)
    #expect(next(&time) == .zero)
    _ = answer(at: time)
    #expect(next(&time) == .seconds(12.5))
    _ = state.reachable(false, at: time)
    _ = state.reachable(true, at: time)
    _ = state.ended(state.connection, .network(URLError(.networkConnectionLost)), at: time)
    #expect(next(&time) == nil)
    #expect(next(&time) == .zero)
    _ = answer(at: time)
    #expect(next(&time) == .seconds(25))
  }

  @Test mutating func `an outage shortens the polls once, and for ten minutes`() {
    var time = Duration.zero
    poll(&time)
    let outage = time
    var waits: [Duration?] = []
    for _ in 0..<4 { waits.append(next(&time)) }
    #expect(waits.contains(.seconds(12.5)) && !waits.contains(.seconds(6.25)))
    // The network is well again.
    while next(&time) != .zero {}
    _ = answer(at: time)
    var wait = next(&time)
    while wait == .seconds(12.5) {
      time += .seconds(12)
      wait = answer(wait: .seconds(12), at: time).first ?? nil
    }
    #expect(wait == .seconds(25))
    #expect(time > outage + .seconds(600))
  }

  @Test(arguments: [504, 502, 408])
  mutating func `a server between that gives up sooner is asked for less time`(_ status: Int) {
    var time = Duration.zero
    poll(&time)
    let error = ReactorError.server(HTTPResponse(status: .init(code: status)), body: Data())
    _ = state.ended(state.connection, error, status: status, at: time + .seconds(2))
    time += .seconds(2)
    #expect(next(&time) == .seconds(25))
    _ = state.ended(state.connection, error, status: status, at: time + .seconds(20))
    time += .seconds(20)
    #expect(next(&time) == .seconds(12.5))
  }

  @Test mutating func `an answer in pieces is no interruption of what polls rarely`() {
    var time = Duration.zero
    poll(&time)
    let number = state.connection
    _ = state.opened(number, .stream, at: time)
    let hello = LiveHello(
      isResumed: true, head: LivePosition("a.2"), heartbeat: .seconds(15), spread: nil, wait: .seconds(25))
    _ = state.received(number, .hello(hello), id: "", at: time)
    #expect(state.limitsPolling)
    _ = state.received(number, .changed([], spread: .zero), id: "a.2", at: time)
    #expect(state.limitsPolling && state.status.isLive)
  }

  @Test mutating func `a server that waits longer than it was asked to is no reason to ask rarely`() {
    var time = Duration.zero
    poll(&time)
    #expect(answer(wait: .seconds(60), at: time + .seconds(25)) == [.seconds(25)])
  }

  @Test mutating func `nothing is lost where no poll is answered either: streams are tried as well`() {
    var time = Duration.zero
    poll(&time)
    var waits: [Duration?] = []
    for _ in 0..<12 { waits.append(next(&time)) }
    #expect(waits.contains(nil) && waits.contains(.zero))
    #expect(!state.status.isLive)
    #expect(answer(at: time).isEmpty || state.status.isLive)
  }

  @Test mutating func `a farewell in an answer is a planned end`() {
    var time = Duration.zero
    poll(&time)
    _ = state.opened(state.connection, .stream, at: time)
    _ = state.received(state.connection, .leaving, id: "", at: time)
    _ = state.ended(state.connection, nil, at: time)
    #expect(state.status.isLive)
    let end = time
    #expect(next(&time) == .seconds(25))
    #expect(time <= end + .seconds(2))
  }

  @Test mutating func `a refused poll is as a refused stream`() {
    var time = Duration.zero
    poll(&time)
    #expect(state.status.isLive)
    let refusal = ReactorError.server(HTTPResponse(status: .unauthorized), body: Data())
    _ = state.ended(state.connection, refusal, status: 401, at: time)
    #expect(state.status.description == "off: the server refuses the credential")
    #expect(Self.waits(state.signedIn(at: time)) == [.seconds(25)])
    _ = state.clear()
    #expect(state.status.description == "off: nothing is observed" && !state.limitsPolling)
  }
}
