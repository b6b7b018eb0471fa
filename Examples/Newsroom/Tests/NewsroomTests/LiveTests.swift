import Foundation
import HTTPTypes
import NewsClient
import ReactorCore
import ReactorLive
import ReactorTesting
import Testing

@MainActor
@Suite(.timeLimit(.minutes(2))) struct `The changes of the API` {
  private let patience: Duration = .seconds(60)
  private let path = "/articles/3/comments"

  /// Returns once changes arrive at the layer.
  private func listen(_ layer: ModelLayer) async throws {
    let live = try #require(layer.live)
    for await status in live.statuses where status.isLive { return }
  }

  private func asked(_ path: String, _ news: RunningNews) async throws -> Int {
    try await news.requests.filter { $0.hasPrefix("GET \(path) ") }.count
  }

  @Test func `a comment of one reader is shown to another, with three requests from the first on`() async throws {
    try await RunningNews.use { news in
      try await RunningNews.withDirectory { directory in
        let model = news.reader.model
        let comments = LiveResource(model.comments.states(for: .comments(3)))
        await comments.wait(timeLimit: patience) { $0.value == [] }
        try await listen(model.layer)
        let other = try NewsReader(api: news.api, directory: directory)
        await other.signIn(name: "grace", password: "reactor")
        try await other.model.comment("So it is.", on: 3, by: User(id: "grace-1906", name: "Grace Hopper"))
        await comments.wait(timeLimit: patience) { $0.value?.map(\.text) == ["So it is."] && !$0.isStale }
        // The first, one as the stream begins, and one for the change.
        #expect(try await asked(path, news) <= 3)
        await other.stop()
      }
    }
  }

  @Test func `a correction reaches the article and each list that has it`() async throws {
    try await RunningNews.use { news in
      let model = news.reader.model
      let article = LiveResource(model.articles.states(for: .article(3)))
      let search = LiveResource(model.searches.states(for: .search("computers", page: 1)))
      let front = LiveResource(model.headlines.states(for: .articles))
      await article.wait(timeLimit: patience) { $0.value != nil }
      await search.wait(timeLimit: patience) { $0.value != nil }
      await front.wait(timeLimit: patience) { $0.value != nil }
      try await listen(model.layer)
      try await news.correct(3, title: "Large computers")
      await article.wait(timeLimit: patience) { $0.value?.summary.title == "Large computers" }
      // A value of another list may have brought the title: the lists themselves are fresh, too.
      await search.wait(timeLimit: patience) { $0.value?.articles.first?.title == "Large computers" && !$0.isStale }
      await front.wait(timeLimit: patience) {
        $0.value?.contains { $0.title == "Large computers" } == true && !$0.isStale
      }
      #expect(try await asked("/articles/3", news) <= 3)
      #expect(try await asked("/articles", news) <= 3)
    }
  }

  @Test func `an own comment and an own reading list cost one request each, beside the write`() async throws {
    try await RunningNews.use { news in
      let reader = news.reader
      await reader.signIn(name: "grace", password: "reactor")
      let model = reader.model
      let comments = LiveResource(model.comments.states(for: .comments(3)))
      let list = LiveResource(model.readingList.states(for: .readingList))
      let others = LiveResource(model.comments.states(for: .comments(5)))
      for comments in [comments, others] { await comments.wait(timeLimit: patience) { $0.value == [] } }
      await list.wait(timeLimit: patience) { $0.value == [] }
      try await listen(model.layer)
      await comments.wait(timeLimit: patience) { !$0.isStale }
      await list.wait(timeLimit: patience) { !$0.isStale }
      try await model.comment("So it is.", on: 3, by: User(id: "grace-1906", name: "Grace Hopper"))
      let article = try await model.articles.fetch(.article(4)).summary
      try await model.setKept(true, article)
      await comments.wait(timeLimit: patience) { $0.value?.first?.id == 1 && !$0.isStale }
      await list.wait(timeLimit: patience) { $0.value?.count == 1 && !$0.isStale }
      // A later change of somebody else: the events of the own ones have come before.
      let ada = try await news.token(of: "ada")
      _ = try await news.ask(.post, "/articles/5/comments", by: ada, ["text": "The last change"])
      await others.wait(timeLimit: patience) { $0.value?.count == 1 && !$0.isStale }
      // The first, one as the stream begins, and one for the write.
      #expect(try await asked(path, news) <= 3)
      #expect(try await asked("/reading-list", news) <= 3)
    }
  }

  @Test func `an article that the desk withdraws leaves the screen without a request, and each list`() async throws {
    try await RunningNews.use { news in
      let model = news.reader.model
      let article = LiveResource(model.articles.states(for: .article(3)))
      let front = LiveResource(model.headlines.states(for: .articles))
      await article.wait(timeLimit: patience) { $0.value != nil }
      await front.wait(timeLimit: patience) { $0.value?.contains { $0.id == 3 } == true }
      try await listen(model.layer)
      // With its tag on screen, nothing is asked for any more.
      try await news.correct(3, title: "Large computers")
      await article.wait(timeLimit: patience) { $0.value?.summary.title == "Large computers" && !$0.isStale }
      let before = try await asked("/articles/3", news)
      #expect(try await news.ask(.delete, "/admin/articles/3").status == 204)
      await article.wait(timeLimit: patience) { $0.value == nil && $0.error != nil }
      await front.wait(timeLimit: patience) { $0.value?.contains { $0.id == 3 } == false && !$0.isStale }
      #expect(try await asked("/articles/3", news) == before)
      #expect(try await news.ask(.get, "/articles/3").status == 404)
      // The pages behind it keep their links.
      #expect(try await news.ask(.get, "/articles?before=3").status == 200)
      #expect(try await news.ask(.delete, "/admin/articles/3").status == 404)
    }
  }

  @Test func `the reading list of a user is told to no other user`() async throws {
    try await RunningNews.use { news in
      let (ada, grace) = (try await news.token(of: "ada"), try await news.token(of: "grace"))
      let told = try await news.events(of: grace) {
        _ = try await news.ask(.put, "/reading-list/3", by: ada)
        _ = try await news.ask(.post, path, by: ada, ["text": "The last change"])
      }
      #expect(!told.contains("reading-list"))
      #expect(
        try await news.events(of: ada) {
          _ = try await news.ask(.put, "/reading-list/4", by: ada)
          _ = try await news.ask(.post, path, by: ada, ["text": "The last change"])
        }.contains("/reading-list"))
    }
  }

  @Test func `a refused write tells nothing`() async throws {
    try await RunningNews.use { news in
      let ada = try await news.token(of: "ada")
      let told = try await news.events(of: ada) {
        #expect(try await news.ask(.post, "/articles/4/comments", by: ada, ["text": ""]).status == 422)
        #expect(try await news.ask(.put, "/reading-list/999", by: ada).status == 404)
        _ = try await news.ask(.post, path, by: ada, ["text": "The last change"])
      }
      #expect(told.split(separator: "event: change").count == 2)
    }
  }
}

extension RunningNews {
  /// Returns the events of a user up to the change of the comments of article 3.
  fileprivate func events(of token: String, _ changes: () async throws -> Void) async throws -> String {
    let resource = Resource("events", headers: [.authorization: "Bearer \(token)"])
    var told = ""
    for try await piece in try await Backend(baseURL: api).stream(for: resource).body {
      if told.isEmpty { try await changes() }
      told += String(decoding: piece, as: UTF8.self)
      if told.contains("/articles/3/comments") { break }
    }
    return told
  }
}
