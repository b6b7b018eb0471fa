import Foundation
import NewsClient
import ReactorCore
import Synchronization
import Testing

@Suite struct `The comments of the API` {
  private let path = "/articles/3/comments"

  @Test func `comments get an id and a place, and are listed in order`() async throws {
    try await RunningNews.use { news in
      let token = try await news.token(of: "ada")
      let first = try await news.ask(.post, path, by: token, ["text": " Well said. \n", "reference": "mine"])
      #expect(first.status == 201)
      #expect(first.fields[.location] == "/articles/3/comments/1")
      let comment = try first.value(NewsClient.Comment.self)
      #expect(comment.id == 1 && comment.text == "Well said." && comment.reference == "mine")
      #expect(comment.author.name == "Ada Lovelace")
      _ = try await news.ask(.post, path, by: try await news.token(of: "grace"), ["text": "So it is."])
      _ = try await news.ask(.post, "/articles/4/comments", by: token, ["text": "Elsewhere."])
      let list = try await news.ask(.get, path)
      #expect(try list.value([NewsClient.Comment].self).map(\.id) == [1, 2])
      #expect(list.fields[.cacheControl] == "private, max-age=5")
      let tag = try #require(list.fields[.eTag])
      #expect(try await news.ask(.get, path, tag: tag).status == 304)
    }
  }

  @Test(arguments: [
    ("", "A comment needs some words."), (" \n ", "A comment needs some words."),
    (String(repeating: "x", count: 501), "A comment has at most 500 characters. This one has 501."),
  ])
  func `are refused with a reason when empty or too long`(text: String, reason: String) async throws {
    try await RunningNews.use { news in
      let answer = try await news.ask(.post, path, by: try await news.token(of: "ada"), ["text": text])
      #expect(answer.status == 422)
      #expect(answer.reason == reason)
      #expect(answer.error.problem?.title == "The comment was not accepted.")
      #expect(answer.error.fieldErrors.map(\.path) == ["text"] && answer.error.fieldErrors.map(\.message) == [reason])
      #expect(try await news.texts(of: 3) == [])
    }
  }

  @Test func `the comments of the API have at most 500 characters, as a reader counts them`() async throws {
    try await RunningNews.use { news in
      let text = String(repeating: "👩‍🔬", count: 500)
      let answer = try await news.ask(.post, path, by: try await news.token(of: "ada"), ["text": text])
      #expect(answer.status == 201)
    }
  }

  @Test func `the comments of the API are written by users below articles`() async throws {
    try await RunningNews.use { news in
      let token = try await news.token(of: "ada")
      #expect(try await news.ask(.post, path, ["text": "Who?"]).status == 401)
      #expect(try await news.ask(.post, "/articles/999/comments", by: token, ["text": "Where?"]).status == 404)
      #expect(try await news.ask(.get, "/articles/999/comments").status == 404)
      #expect(try await news.ask(.post, path, by: token, ["words": "What?"]).status == 400)
    }
  }

  @Test func `the comments of the API are deleted by their author, as often as that is requested`() async throws {
    try await RunningNews.use { news in
      let (ada, grace) = (try await news.token(of: "ada"), try await news.token(of: "grace"))
      _ = try await news.ask(.post, path, by: ada, ["text": "Mine"])
      let refused = try await news.ask(.delete, "\(path)/1", by: grace)
      #expect(refused.status == 403)
      #expect(refused.reason == "Only Ada Lovelace can delete this comment.")
      #expect(try await news.ask(.delete, "\(path)/1").status == 401)
      #expect(try await news.texts(of: 3) == ["Mine"])
      #expect(try await news.ask(.delete, "\(path)/1", by: ada).status == 204)
      #expect(try await news.texts(of: 3) == [])
      #expect(try await news.ask(.delete, "\(path)/1", by: ada).status == 204)
    }
  }

  @Test func `survive the server, with the answers under their keys and the sessions`() async throws {
    try await RunningNews.withDirectory { state in
      let token = Mutex("")
      let answer = Mutex(Data())
      try await RunningNews.use(state: state) { news in
        let ada = try await news.token(of: "ada")
        let first = try await news.ask(.post, path, by: ada, key: "k", ["text": "Once"])
        token.withLock { $0 = ada }
        answer.withLock { $0 = first.body }
      }
      try await RunningNews.use(state: state) { news in
        #expect(try await news.texts(of: 3) == ["Once"])
        let second = try await news.ask(.post, path, by: token.withLock(\.self), key: "k", ["text": "Once"])
        #expect(second.status == 201 && second.body == answer.withLock(\.self))
        #expect(try await news.texts(of: 3) == ["Once"])
      }
    }
  }
}

@Suite struct `A request with an idempotency key` {
  private let path = "/articles/3/comments"

  @Test func `a request with an idempotency key is answered as the first time`() async throws {
    try await RunningNews.use { news in
      let token = try await news.token(of: "ada")
      let first = try await news.ask(.post, path, by: token, key: "k", ["text": "Once"])
      let second = try await news.ask(.post, path, by: token, key: "k", ["text": "Once"])
      #expect(second.status == 201 && second.body == first.body)
      #expect(second.fields[.location] == first.fields[.location])
      #expect(try await news.texts(of: 3) == ["Once"])
    }
  }

  @Test func `is refused with another payload, and for another article`() async throws {
    try await RunningNews.use { news in
      let token = try await news.token(of: "ada")
      _ = try await news.ask(.post, path, by: token, key: "k", ["text": "Once"])
      let other = try await news.ask(.post, path, by: token, key: "k", ["text": "Twice"])
      #expect(other.status == 422)
      #expect(other.reason == "This key belongs to another request.")
      #expect(try await news.ask(.post, "/articles/4/comments", by: token, key: "k", ["text": "Once"]).status == 422)
      #expect(try await news.texts(of: 3) == ["Once"])
    }
  }

  @Test func `a request with an idempotency key shares its key with no other user`() async throws {
    try await RunningNews.use { news in
      for name in ["ada", "grace"] {
        let token = try await news.token(of: name)
        #expect(try await news.ask(.post, path, by: token, key: "k", ["text": name]).status == 201)
      }
      #expect(try await news.texts(of: 3) == ["ada", "grace"])
    }
  }

  @Test func `a request with an idempotency key is a conflict while the first one is under way`() async throws {
    let gate = Gate()
    try await RunningNews.use(sleep: { _ in await gate.wait() }) { news in
      let token = try await news.token(of: "ada")
      try await news.reader.model.change(Dials.Change(latency: 1))
      async let first = news.ask(.post, path, by: token, key: "k", ["text": "Once"])
      await gate.arrival()
      #expect(try await news.ask(.post, path, by: token, key: "k", ["text": "Once"]).status == 409)
      gate.open()
      #expect(try await first.status == 201)
      #expect(try await news.ask(.post, path, by: token, key: "k", ["text": "Once"]).status == 201)
      #expect(try await news.texts(of: 3) == ["Once"])
    }
  }

  @Test func `a request with an idempotency key is forgotten after a day`() async throws {
    try await RunningNews.use { news in
      _ = try await news.ask(.post, path, by: try await news.token(of: "ada"), key: "k", ["text": "Once"])
      news.clock.advance(by: 86_401)
      let token = try await news.token(of: "ada")
      _ = try await news.ask(.post, path, by: token, key: "l", ["text": "A day later"])
      _ = try await news.ask(.post, path, by: token, key: "k", ["text": "Once"])
      #expect(try await news.texts(of: 3) == ["Once", "A day later", "Once"])
    }
  }
}

/// A place where requests wait, until it is open.
private final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [CheckedContinuation<Void, Never>] = []
    var arrivals: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  func wait() async {
    await withCheckedContinuation { continuation in
      let (arrivals, passes) = state.withLock { state in
        guard !state.isOpen else { return ([CheckedContinuation<Void, Never>](), true) }
        state.waiting.append(continuation)
        defer { state.arrivals = [] }
        return (state.arrivals, false)
      }
      for arrival in arrivals { arrival.resume() }
      if passes { continuation.resume() }
    }
  }

  /// Waits until something waits.
  func arrival() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.waiting.isEmpty { state.arrivals.append(continuation) }
        return !state.waiting.isEmpty
      }
      if isThere { continuation.resume() }
    }
  }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for one in waiting { one.resume() }
  }
}
