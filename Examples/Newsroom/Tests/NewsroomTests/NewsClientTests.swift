import Foundation
import NewsClient
import ReactorCore
import ReactorFlux
import ReactorLists
import Testing

@MainActor
@Suite struct `A news reader` {
  @Test func `reads the front page to its end, each article once, and back to its beginning`() async throws {
    try await RunningNews.use { news in
      let list = news.reader.model.frontPage()
      try await list.fetch()
      var seen = Set(list.states.current.value?.members.map(\.id) ?? [])
      while try await list.loadNext() {
        let page = try #require(list.states.current.value?.last)
        #expect(seen.isDisjoint(with: page.map(\.id)))
        seen.formUnion(page.map(\.id))
        #expect((list.states.current.value?.count ?? 0) <= 5)
      }
      #expect(seen.count == 84)
      while try await list.loadPrevious() {}
      #expect(list.states.current.value?.hasPrevious == false)
      #expect(list.states.current.value?.first?.first?.id == list.states.current.value?.members.map(\.id).first)
    }
  }

  @Test func `a news reader sees a new story above the others, and its other pages are unchanged`() async throws {
    try await RunningNews.use { news in
      let list = news.reader.model.frontPage()
      try await list.fetch()
      try await list.loadNext()
      let before = try #require(list.states.current.value?.members.map(\.id))
      try await news.publish("A story of today")
      try await list.refresh()
      let after = try #require(list.states.current.value)
      #expect(after.members.map(\.title).first == "A story of today")
      #expect(Array(after.members.map(\.id).dropFirst()) == before)
      #expect(try await news.requests.suffix(2).map { String($0.suffix(3)) } == ["200", "304"])
    }
  }

  @Test func `a news reader sees a correction in every list once it has come in one`() async throws {
    try await RunningNews.use { news in
      let model = news.reader.model
      let list = model.frontPage()
      try await list.fetch()
      let first = try #require(list.states.current.value?.members.first)
      _ = try await model.articles.fetch(.article(first.id))
      _ = try await model.authors.fetch(.author(first.author.id))
      _ = try await model.searches.fetch(.search(first.title, page: 1))
      try await news.correct(first.id, title: "It was otherwise")
      _ = try await model.searches.fetchFromNetwork(.search("It was otherwise", page: 1))
      #expect(model.articles.cached(.article(first.id))?.summary.title == "It was otherwise")
      #expect(model.headlines.cached(.articles)?.first?.title == "It was otherwise")
      #expect(model.searches.cached(.search(first.title, page: 1))?.articles.first?.title == "It was otherwise")
      let author = try #require(model.authors.cached(.author(first.author.id)))
      #expect(author.articles.contains { $0.title == "It was otherwise" })
    }
  }

  @Test func `a news reader asks again with a validator, and is told that nothing has changed`() async throws {
    try await RunningNews.use { news in
      let articles = news.reader.model.articles
      let first = try await articles.fetch(.article(3))
      let second = try await articles.fetchFromNetwork(.article(3))
      #expect(first == second)
      #expect(try await news.requests == ["GET /articles/3 200", "GET /articles/3 304"])
    }
  }

  @Test func `a news reader refreshes an expired token once, however many requests it refuses`() async throws {
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

  @Test func `a news reader stays a guest with a wrong password`() async throws {
    try await RunningNews.use { news in
      await news.reader.signIn(name: "ada", password: "1815")
      #expect(news.reader.session.user == nil)
      await #expect(throws: ReactorError.self) { try await news.reader.model.readingList.fetch(.readingList) }
    }
  }

  @Test func `a news reader leaves nothing of the user when it signs out`() async throws {
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
