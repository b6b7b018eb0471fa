import Foundation
import NewsClient
import ReactorCore
import ReactorOutbox
import Testing

@MainActor
@Suite struct `A reader who writes` {
  private let ada = User(id: "ada-1815", name: "Ada Lovelace")

  /// Signed in, with an outbox that sends nothing until it is resumed.
  private func paused(_ news: RunningNews) async -> NewsModel {
    await news.reader.signIn(name: "ada", password: "reactor")
    let model = news.reader.model
    model.layer.outbox.pause()
    return model
  }

  private func send(_ model: NewsModel) async {
    model.layer.outbox.resume()
    let left = await model.layer.outbox.drain(within: .seconds(60))
    #expect(left == 0)
  }

  @Test func `a reader who writes sees a comment before the API has it, and then with its id`() async throws {
    try await RunningNews.use { news in
      let model = await paused(news)
      _ = try await model.comments.fetch(.comments(3))
      let submission = try await model.comment("First", on: 3, by: ada)
      let shown = try #require(model.comments.cached(.comments(3))?.first)
      #expect(shown.text == "First" && shown.id < 0)
      #expect(model.comments.confirmed(.comments(3)) == [])
      model.layer.outbox.resume()
      let comment = try await submission.answer()
      #expect(comment.id == 1 && comment.reference == shown.reference)
      #expect(try await model.comments.fetchFromNetwork(.comments(3)).map(\.id) == [1])
      #expect(model.layer.outbox.entries.isEmpty)
    }
  }

  @Test func `writes three comments without a connection, and the API gets them once and in order`() async throws {
    try await RunningNews.use { news in
      let model = await paused(news)
      for text in ["One", "Two", "Three"] { try await model.comment(text, on: 3, by: ada) }
      #expect(model.comments.cached(.comments(3))?.map(\.text) == ["One", "Two", "Three"])
      // The reader starts again, without a sign-in.
      let next = try NewsReader(api: news.api, directory: news.directory)
      #expect(next.session.user == ada)
      #expect(await next.model.layer.outbox.drain(within: .seconds(60)) == 0)
      #expect(try await news.texts(of: 3) == ["One", "Two", "Three"])
      #expect(try await news.requests.filter { $0.hasPrefix("POST /articles") }.count == 3)
      let shown = try await next.model.comments.fetch(.comments(3))
      #expect(shown.map(\.text) == ["One", "Two", "Three"] && shown.map(\.id) == [1, 2, 3])
    }
  }

  @Test func `a reader who writes sees a comment once that the API has and whose answer was lost`() async throws {
    try await RunningNews.use { news in
      let model = await paused(news)
      let adding = AddComment(article: 3, author: ada, text: "Once", written: Date())
      try await model.layer.submit(adding)
      _ = try await news.ask(
        .post, "/articles/3/comments", by: try await news.token(of: "ada"),
        ["text": "Once", "reference": adding.reference])
      #expect(try await model.comments.fetchFromNetwork(.comments(3)).map(\.id) == [1])
    }
  }

  @Test func `a reader who writes deletes a comment that has only a temporary id`() async throws {
    try await RunningNews.use { news in
      let model = await paused(news)
      try await model.comment("Stays", on: 3, by: ada)
      try await model.comment("Goes", on: 3, by: ada)
      let goes = try #require(model.comments.cached(.comments(3))?.last)
      try await model.layer.submit(DeleteComment(article: 3, comment: goes.id, reference: goes.reference))
      #expect(model.comments.cached(.comments(3))?.map(\.text) == ["Stays"])
      await send(model)
      #expect(try await news.requests.contains("DELETE /articles/3/comments/2 204"))
      #expect(try await news.texts(of: 3) == ["Stays"])
      #expect(try await model.comments.fetch(.comments(3)).map(\.text) == ["Stays"])
    }
  }

  @Test func `a reader who writes takes a comment back that was not sent`() async throws {
    try await RunningNews.use { news in
      let model = await paused(news)
      try await model.comment("Never mind", on: 3, by: ada)
      let comment = try #require(model.comments.cached(.comments(3))?.first)
      try await model.deleteComment(comment.id, reference: comment.reference, of: 3)
      #expect(model.layer.outbox.entries.isEmpty)
      await send(model)
      #expect(try await news.requests.allSatisfy { !$0.contains("/comments") })
    }
  }

  @Test func `a reader who writes is told why a comment was refused, tries again, and discards it`() async throws {
    try await RunningNews.use { news in
      await news.reader.signIn(name: "ada", password: "reactor")
      let model = news.reader.model
      let submission = try await model.comment(String(repeating: "x", count: 501), on: 3, by: ada)
      await #expect(throws: ReactorError.self) { try await submission.answer() }
      let entry = try #require(model.layer.outbox.entries.first)
      guard case .refused(.server(let response, _)) = entry.state else {
        Issue.record("the state is \(entry.state)")
        return
      }
      #expect(response.status == .unprocessableContent)
      #expect(model.comments.cached(.comments(3)) ?? [] == [])
      #expect(await model.layer.outbox.retry(entry.id))
      _ = await model.layer.outbox.drain(within: .seconds(60))
      #expect(try await news.requests.filter { $0 == "POST /articles/3/comments 422" }.count == 2)
      #expect(await model.layer.outbox.discard(entry.id))
      #expect(model.layer.outbox.entries.isEmpty)
    }
  }

  @Test func `a reader who writes keeps articles and drops them without a connection`() async throws {
    try await RunningNews.use { news in
      await news.reader.signIn(name: "ada", password: "reactor")
      let model = news.reader.model
      let articles = try await model.headlines.fetch(.articles)
      try await model.setKept(true, articles[0])
      await send(model)
      _ = try await model.readingList.fetchFromNetwork(.readingList)
      model.layer.outbox.pause()
      try await model.setKept(true, articles[1])
      try await model.setKept(false, articles[0])
      try await model.setKept(true, articles[2])
      // It was not sent: there is nothing to be sent for it any more.
      try await model.setKept(false, articles[2])
      #expect(model.readingList.cached(.readingList)?.map(\.id) == [articles[1].id])
      #expect(model.layer.outbox.entries.map(\.name) == ["SaveArticle", "UnsaveArticle"])
      await send(model)
      #expect(try await model.readingList.fetchFromNetwork(.readingList).map(\.id) == [articles[1].id])
      #expect(try await news.requests.allSatisfy { !$0.contains("/reading-list/3") })
    }
  }

  @Test func `a reader who writes does not sign out without a word while something is unsent`() async throws {
    try await RunningNews.use { news in
      let model = await paused(news)
      try await model.comment("Unsent words", on: 3, by: ada)
      await #expect(throws: UnsentChanges.self) { try await news.reader.signOut() }
      #expect(news.reader.session.user == ada && news.reader.model.layer === model.layer)
      try await news.reader.signOut(discardsUnsent: true)
      #expect(news.reader.session.user == nil)
      #expect(try !news.storeHolds("Unsent words"))
      #expect(try NewsReader(api: news.api, directory: news.directory).session.user == nil)
      #expect(try await news.texts(of: 3) == [])
    }
  }

  @Test func `a reader who writes signs out when everything could be sent`() async throws {
    try await RunningNews.use { news in
      await news.reader.signIn(name: "ada", password: "reactor")
      try await news.reader.model.comment("Just in time", on: 3, by: ada)
      try await news.reader.signOut()
      #expect(try await news.texts(of: 3) == ["Just in time"])
    }
  }

  @Test func `the user may sign in again, and no other user meanwhile`() async throws {
    try await RunningNews.use { news in
      let model = await paused(news)
      try await model.comment("Unsent", on: 3, by: ada)
      await news.reader.signIn(name: "grace", password: "reactor")
      #expect(news.reader.session.error is SomebodyElse)
      #expect(news.reader.session.user == ada)
      await news.reader.signIn(name: "ada", password: "reactor")
      #expect(news.reader.session.error == nil)
      #expect(news.reader.model.layer === model.layer && model.layer.outbox.entries.count == 1)
    }
  }
}
