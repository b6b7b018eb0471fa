import Foundation
import NewsClient
import ReactorCore
import ReactorFlux
import Testing

@MainActor
@Suite struct `A news reader` {
  @Test func `is given a page of the list, and how many there are`() async throws {
    try await RunningNews.use { news in
      let page = try await news.reader.model.pages.fetch(.articles(page: 2))
      #expect(page.page == 2 && page.pages == 3)
      #expect(page.articles.map(\.id) == Array(10...18))
    }
  }

  @Test func `asks again with a validator, and is told that nothing has changed`() async throws {
    try await RunningNews.use { news in
      let articles = news.reader.model.articles
      let first = try await articles.fetch(.article(3))
      let second = try await articles.fetchFromNetwork(.article(3))
      #expect(first == second)
      #expect(try await news.requests == ["GET /articles/3 200", "GET /articles/3 304"])
    }
  }

  @Test func `refreshes an expired token once, however many requests it refuses`() async throws {
    try await RunningNews.use { news in
      await news.reader.signIn(name: "ada", password: "reactor")
      let model = news.reader.model
      _ = try await model.readingList.fetch(.readingList)
      news.clock.advance(by: 61)
      async let first = model.articles.fetchFromNetwork(.article(1))
      async let second = model.articles.fetchFromNetwork(.article(2))
      async let third = model.authors.fetchFromNetwork(.author(1))
      _ = try await (first, second, third)
      let requests = try await news.requests
      #expect(requests.filter { $0.hasSuffix("401") }.isEmpty == false)
      #expect(requests.filter { $0.hasPrefix("POST /session/refresh") }.count == 1)
      try await news.reader.signOut()
    }
  }

  @Test func `stays a guest with a wrong password`() async throws {
    try await RunningNews.use { news in
      await news.reader.signIn(name: "ada", password: "1815")
      #expect(news.reader.session.user == nil)
      await #expect(throws: ReactorError.self) { try await news.reader.model.readingList.fetch(.readingList) }
    }
  }

  @Test func `leaves nothing of the user when it signs out`() async throws {
    try await RunningNews.use { news in
      await news.reader.signIn(name: "ada", password: "reactor")
      let model = news.reader.model
      _ = try await model.readingList.fetch(.readingList)
      #expect(try news.storeHolds("ada-1815"))
      try await news.reader.signOut()
      #expect(try !news.storeHolds("ada-1815"))
      #expect(model.readingList.cached(.readingList) == nil)
      #expect(news.reader.session.user == nil && news.reader.readingList.articles.isEmpty)
    }
  }
}
