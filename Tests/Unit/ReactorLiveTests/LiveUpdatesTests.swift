import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorLive
import ReactorTesting
import ServerSentEvents
import Synchronization
import TestSupport
import Testing

@Suite("The changes of a server", .timeLimit(.minutes(1))) struct LiveUpdatesTests {
  @Test func `a change on the server is on screen, and the layer asked once for it`() async {
    await Newsroom.run { newsroom, layer in
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      #expect(screen.likes == 1)
      newsroom.greet()
      try await newsroom.settle()
      #expect(layer.live?.status.isLive == true)
      // What came before the stream was asked for again.
      #expect(newsroom.requests.value.count == 2)
      newsroom.likes.change { $0[1] = 7 }
      newsroom.tell(#"{"url":"/v1/posts/1"}"#, at: "a.2")
      try await newsroom.settle(.milliseconds(20))
      #expect(screen.likes == 7)
      #expect(!screen.isStale)
      try await newsroom.settle(.seconds(30))
      #expect(newsroom.requests.value.count == 3)
    }
  }

  @Test func `a change of an unobserved resource causes no request before the next fetch`() async {
    await Newsroom.run { newsroom, layer in
      let posts = layer.reactor(Post.self)
      _ = try await posts.fetch("posts/2")
      _ = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle()
      newsroom.likes.change { $0[2] = 9 }
      newsroom.tell(#"{"under":"/v1/posts"}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(newsroom.requests.value.filter { $0 == "/v1/posts/1" }.count == 3)
      #expect(newsroom.requests.value.filter { $0 == "/v1/posts/2" }.count == 1)
      let likes = try await posts.fetch("posts/2").likes
      #expect(likes == 9)
    }
  }

  @Test(arguments: [
    #"{"url":"https://other.example.com/v1/posts/1"}"#, #"{"url":"/v2/posts/1"}"#,
    #"{"url":"http://api.example.com/v1/posts/1"}"#, #"{"under":"/v10"}"#, #"{"group":"unknown"}"#, #"{"new":true}"#,
  ])
  func `an address outside of the layer's API, or a target of a later version, changes nothing`(_ target: String) async
  {
    await Newsroom.run { newsroom, layer in
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle()
      newsroom.tell(target, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(layer.live?.lastEventID == "a.2")
      #expect(newsroom.requests.value.count == 2)
      #expect(!screen.isStale)
    }
  }

  @Test(arguments: ["{", "[]", #"{"changes":{}}"#, "🙂"])
  func `a change that cannot be read may have named anything`(_ data: String) async {
    await Newsroom.run { newsroom, layer in
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle()
      newsroom.likes.change { $0[1] = 2 }
      newsroom.send("event: change\nid: a.2\ndata: \(data)\n\n")
      try await newsroom.settle(.seconds(3))
      #expect(screen.likes == 2)
    }
  }

  @Test func `a change of a group is not lost while the first response that names the group is on its way`() async {
    await Newsroom.run { newsroom, layer in
      newsroom.latency.change { $0 = .milliseconds(500) }
      newsroom.groups.change { $0 = "\"likes\"" }
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle(.milliseconds(1))
      newsroom.greet()
      try await newsroom.settle(.seconds(5))
      let other = newsroom.watch("posts/2", layer)
      try await newsroom.settle(.milliseconds(100))
      newsroom.likes.change { $0 = [4, 4, 4] }
      newsroom.tell(#"{"group":"likes"}"#, at: "a.2")
      try await newsroom.settle(.seconds(5))
      #expect(screen.likes == 4)
      #expect(other.likes == 4)
    }
  }

  @Test func `an event too long to be read is a gap, and is not met again`() async {
    await Newsroom.run { newsroom, layer in
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle()
      newsroom.likes.change { $0[1] = 2 }
      newsroom.send("event: change\nid: a.2\ndata: " + String(repeating: " ", count: 1 << 20) + "\n\n")
      try await newsroom.settle(.seconds(5))
      #expect(newsroom.opened.value == ["", ""])
      newsroom.greet("a.2")
      try await newsroom.settle(.seconds(5))
      #expect(screen.likes == 2)
    }
  }

  @Test func `a stream that is cut is opened behind its place, and what it missed is shown`() async {
    await Newsroom.run { newsroom, layer in
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet("a.4")
      try await newsroom.settle()
      newsroom.cut()
      newsroom.likes.change { $0[1] = 3 }
      try await newsroom.settle(.seconds(3))
      #expect(newsroom.opened.value == ["", "a.4"])
      newsroom.greet("a.5", resumed: true)
      try await newsroom.settle(.milliseconds(1))
      #expect(layer.live?.status.description == "catching up")
      #expect(newsroom.requests.value.count == 2)
      newsroom.tell(#"{"url":"posts/1"}"#, at: "a.5")
      try await newsroom.settle()
      #expect(screen.likes == 3)
      #expect(layer.live?.status.isLive == true)
    }
  }

  @Test func `a value that changes faster than it loads is shown all the time, at half of the server's time`() async {
    await Newsroom.run { newsroom, layer in
      newsroom.latency.change { $0 = .milliseconds(400) }
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle(.seconds(2))
      let before = newsroom.requests.value.count
      for number in 2..<602 {
        newsroom.likes.change { $0[1] = number }
        newsroom.tell(#"{"url":"posts/1"}"#, at: "a.\(number)")
        try await newsroom.settle(.milliseconds(100))
      }
      let requests = newsroom.requests.value.count - before
      #expect((70...77).contains(requests), "\(requests) requests of 400 ms in 60 s")
      #expect(Set(screen.states.value.compactMap { $0.value?.likes }).count >= requests)
      try await newsroom.settle(.seconds(2))
      #expect(screen.likes == 601)
    }
  }

  @Test func `the stream closes half a minute after the last observer`() async {
    await Newsroom.run { newsroom, layer in
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle()
      screen.task.cancel()
      try await newsroom.settle(.seconds(29))
      #expect(layer.live?.status.isLive == true)
      try await newsroom.settle(.seconds(2))
      #expect(layer.live?.status.description == "off: nothing is observed")
    }
  }

  @Test func `a sign-out ends the stream, and its place is not told to the next user`() async {
    await Newsroom.run { newsroom, layer in
      _ = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet("a.4")
      try await newsroom.settle()
      try await layer.signOut()
      newsroom.tell(#"{"url":"posts/1"}"#, at: "a.5")
      try await newsroom.settle()
      #expect(newsroom.opened.value == ["", ""])
      #expect(newsroom.requests.value.count == 2)
    }
  }

  @Test func `polling rests while changes arrive, and goes on ten seconds after they stop`() async {
    await Newsroom.run { newsroom, layer in
      _ = newsroom.watch("posts/1", layer, polling: .seconds(10))
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle()
      for number in 2...25 {
        newsroom.send("id: a.\(number)\n\n")
        try await newsroom.settle(.seconds(10))
      }
      #expect(newsroom.requests.value.count == 2)
      newsroom.refusal.change { $0 = .timedOut }
      newsroom.cut()
      try await newsroom.settle(.seconds(9))
      #expect(newsroom.requests.value.count == 2)
      try await newsroom.settle(.seconds(2))
      #expect(newsroom.requests.value.count == 3)
      try await newsroom.settle(.seconds(10))
      #expect(newsroom.requests.value.count == 4)
    }
  }

  @Test func `another server's events mean what the program says, and what it does not understand is a gap`() async {
    let mapping = LiveMapping(covers: [.under("posts")]) { event in
      event.type == "like" ? [.stale(.resource(Resource("posts/\(event.data)")))] : nil
    }
    await Newsroom.run(mapping) { newsroom, layer in
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      #expect(layer.live?.status.isLive == true)
      newsroom.likes.change { $0[1] = 5 }
      newsroom.send("event: like\ndata: 1\n\n")
      try await newsroom.settle()
      #expect(screen.likes == 5)
      newsroom.likes.change { $0[1] = 6 }
      newsroom.send("data: ?\n\n")
      try await newsroom.settle(.seconds(5))
      #expect(screen.likes == 6)
    }
  }

  @Test func `ten thousand events for a hundred keys, ten of them observed, cause at most thirty requests`() async {
    await Newsroom.run { newsroom, layer in
      newsroom.likes.change { $0 = [Int](repeating: 1, count: 100) }
      let screens = (0..<10).map { newsroom.watch(Resource("posts/\($0)"), layer) }
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle(.seconds(5))
      let before = newsroom.requests.value.count
      newsroom.likes.change { $0 = [Int](repeating: 2, count: 100) }
      var text = ""
      for number in 0..<10_000 {
        text += "event: change\nid: a.\(number + 2)\ndata: {\"changes\":[{\"url\":\"/v1/posts/\(number % 100)\"}]}\n\n"
      }
      newsroom.send(text)
      try await newsroom.settle(.seconds(5))
      #expect(layer.live?.lastEventID == "a.10001")
      #expect(screens.allSatisfy { $0.likes == 2 })
      #expect(newsroom.requests.value.count - before <= 30)
    }
  }

  @Test func `the status is told, and a reader of it ends with the layer`() async {
    await Newsroom.run { newsroom, layer in
      let told = Shared<[String]>([])
      let reader = spawn(on: newsroom.world.configuration.taskExecutor) { [live = layer.live] in
        guard let live else { return }
        for await status in live.statuses { told.change { $0.append(status.description) } }
      }
      try await newsroom.settle()
      _ = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      for number in 2..<12 {
        try await newsroom.settle(.milliseconds(100))
        newsroom.tell(#"{"url":"/v1/posts/2"}"#, at: "a.\(number)")
      }
      try await newsroom.settle()
      newsroom.cut()
      try await newsroom.settle(.milliseconds(1))
      #expect(told.value.first == "off: nothing is observed")
      #expect(told.value.contains("catching up"))
      #expect(told.value.contains("live"))
      #expect(told.value.last?.hasPrefix("interrupted") == true)
      #expect(told.value.filter { $0 == "live" }.count == 1)
      reader.cancel()
    }
  }
}
