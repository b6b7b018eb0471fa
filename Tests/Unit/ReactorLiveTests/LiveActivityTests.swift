import HTTPTypes
import ReactorCore
import ReactorTesting
import Testing

@testable import ReactorLive

@Suite("The changes of a server, in the background and while power is saved", .timeLimit(.minutes(1)))
struct LiveActivityTests {
  @Test func `in the background the stream is closed after five seconds, and the return opens it at once`() async {
    await Newsroom.run { newsroom, layer in
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet("a.4")
      try await newsroom.settle()
      newsroom.activity.leave()
      try await newsroom.settle(.seconds(4.9))
      #expect(layer.live?.status.isLive == true)
      try await newsroom.settle(.seconds(0.2))
      #expect(layer.live?.status.description == "off: the app is in the background")
      try await newsroom.settle(.seconds(600))
      #expect(newsroom.opened.value == [""])
      newsroom.likes.change { $0[1] = 3 }
      newsroom.activity.becomeActive()
      try await newsroom.settle(.milliseconds(1))
      #expect(newsroom.opened.value == ["", "a.4"])
      // A gap that the client has caused is not spread: one user waits.
      newsroom.greet("b.1")
      try await newsroom.settle(.milliseconds(20))
      #expect(screen.likes == 3)
      #expect(layer.live?.status.isLive == true)
      // And once more.
      newsroom.activity.leave()
      try await newsroom.settle(.seconds(6))
      #expect(layer.live?.status.isLive == false)
    }
  }

  @Test func `a moment in the background changes nothing`() async {
    await Newsroom.run { newsroom, layer in
      _ = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      newsroom.activity.leave()
      try await newsroom.settle(.seconds(4))
      newsroom.activity.becomeActive()
      try await newsroom.settle(.seconds(20))
      #expect(newsroom.opened.value == [""])
      #expect(layer.live?.status.isLive == true)
    }
  }

  @Test func `a program that reconnects in the background has five seconds`() async {
    await Newsroom.run { newsroom, layer in
      _ = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      newsroom.activity.leave()
      try await newsroom.settle(.seconds(60))
      layer.live?.reconnect()
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle(.seconds(3))
      #expect(layer.live?.status.isLive == true)
      try await newsroom.settle(.seconds(2))
      #expect(layer.live?.status.description == "off: the app is in the background")
    }
  }

  @Test func `what is first observed in the background waits for the return`() async {
    await Newsroom.run { newsroom, layer in
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      screen.task.cancel()
      newsroom.activity.leave()
      try await newsroom.settle(.seconds(60))
      #expect(layer.live?.status.description == "off: nothing is observed")
      _ = newsroom.watch("posts/2", layer)
      try await newsroom.settle(.seconds(60))
      #expect(newsroom.opened.value.count == 1)
      newsroom.activity.becomeActive()
      try await newsroom.settle()
      #expect(newsroom.opened.value.count == 2)
    }
  }

  @Test func `an app that was suspended at once opens another connection, since the old one may be dead`() {
    var state = LiveState(LiveConfiguration(), .changes, random: SplitMix64(seed: 1))
    _ = state.observed(true, at: .zero)
    _ = state.opened(state.connection, .stream, at: .zero)
    let old = state.connection
    state.left(at: .seconds(1))
    #expect(state.deadline == .seconds(6))
    let actions = state.returned(at: .seconds(60))
    #expect(actions.count == 2 && state.connection > old)
    #expect(state.returned(at: .seconds(90)).isEmpty)
  }

  @Test(arguments: [false, true])
  func `a gap is spread if the server has caused it`(_ isOfServer: Bool) {
    var state = LiveState(LiveConfiguration(), .changes, random: SplitMix64(seed: 1))
    func spread(_ actions: [LiveState.Action]) -> Duration? {
      if case .markCovered(let spread)? = actions.first { spread } else { nil }
    }
    let hello = LiveSignal.hello(LiveHello(isResumed: false, head: LivePosition("a.1"), heartbeat: nil))
    _ = state.observed(true, at: .zero)
    _ = state.opened(state.connection, .stream, at: .zero)
    #expect(spread(state.received(state.connection, hello, id: "", at: .zero)) == .zero)
    if isOfServer {
      _ = state.ended(state.connection, .timedOut, at: .seconds(20))
      _ = state.time(.seconds(90))
    } else {
      state.left(at: .seconds(20))
      _ = state.time(.seconds(25))
      _ = state.returned(at: .seconds(90))
    }
    _ = state.opened(state.connection, .stream, at: .seconds(90))
    let gap = spread(state.received(state.connection, hello, id: "", at: .seconds(90)))
    #expect(gap == (isOfServer ? .seconds(2) : .zero))
  }

  @Test func `while power is saved, fewer heartbeats are asked for, beside what the program prefers`() throws {
    let prefer = try #require(HTTPField.Name("Prefer"))
    let id = try #require(HTTPField.Name("Last-Event-ID"))
    var resource = Resource("events")
    let (first, later) = (LiveRequest(lastEventID: ""), LiveRequest(lastEventID: "a.1"))
    #expect(resource.stream(first, savesPower: false).headers == resource.headers)
    #expect(resource.stream(later, savesPower: true).headers[prefer] == "heartbeat=60")
    resource.headers[prefer] = "respond-async"
    let request = resource.stream(later, savesPower: true)
    #expect(request.headers[prefer] == "respond-async, heartbeat=60")
    #expect(request.headers[id] == "a.1")
    // One answer has no heartbeats.
    let poll = resource.stream(LiveRequest(lastEventID: "a.1", wait: .seconds(25)), savesPower: true)
    #expect(poll.headers[prefer] == "respond-async, wait=25")
  }
}
