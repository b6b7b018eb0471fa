import HTTPTypes
import ReactorCore
import ReactorTesting
import ReactorWrites
import Synchronization
import TestSupport
import Testing

@Suite("Entities that several resources hold", .timeLimit(.minutes(5)))
struct EntityTests {
  @Test func `for each member, a copy shows its own value or the newest value, whichever is newer`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "one"), Article(8, "other"))
    try await desk.fetch(Article(7, "two"))
    #expect(desk.titles("a") == ["two", "other"])
    #expect(try await desk.lists.fetch("a").map(\.title) == ["two", "other"])
    #expect(try await desk.lists.fetchResponse("a").model.map(\.title) == ["two", "other"])
    #expect(desk.lists.states(for: "a", policy: .cacheOnly).current.value?.map(\.title) == ["two", "other"])
    try await desk.fetch("b", Article(7, "three"))
    #expect(desk.titles("a") == ["three", "other"])
    #expect(desk.title(7) == "three")
    #expect(try await desk.articles.fetch("articles/7").title == "three")
    #expect(desk.bench.transport.requestCount == 3)
    try await desk.bench.waitUntilNothingWaits()
  }

  @Test func `an array, a page and a model that is an entity take part`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "one"))
    try await desk.fetch(Article(7, "two"))
    desk.bench.transport.answer("/v1/page", with: EntityDesk.page([Article(7, "three"), Article(9, "nine")]))
    _ = try await desk.pages.fetch("page")
    #expect(desk.titles("a") == ["three"])
    #expect(desk.title(7) == "three")
    try await desk.fetch(Article(9, "ten"))
    #expect(desk.pages.cached("page")?.articles.map(\.title) == ["three", "ten"])
  }

  @Test func `an answer begun before the newest value does not bring an old value back`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("b", Article(7, "zero"))
    let (task, gate) = try await desk.begin("a", Article(7, "one"), Article(8, "other"))
    try await desk.fetch(Article(7, "two"))
    #expect(desk.titles("b") == ["two"])
    gate.open()
    #expect(try await task.value.map(\.title) == ["two", "other"])
    #expect(desk.titles("a") == ["two", "other"])
    #expect(desk.titles("b") == ["two"])
    #expect(desk.title(7) == "two")
  }

  @Test func `a 304 confirms the list and not its members`() async throws {
    let desk = EntityDesk()
    var fields = EntityDesk.fresh
    fields[.eTag] = "\"v1\""
    desk.bench.transport.answer(
      "/v1/a", with: EntityDesk.list([Article(7, "one"), Article(8, "eight")], fields), .response(.notModified))
    _ = try await desk.lists.fetch("a")
    try await desk.fetch(Article(7, "two"))
    desk.bench.layer.remove(Article.self, id: 8)
    #expect(try await desk.lists.fetchFromNetwork("a").map(\.title) == ["two"])
    #expect(desk.titles("a") == ["two"])
    #expect(desk.title(7) == "two")
    try await desk.bench.log.wait(for: .notModified)
  }

  @Test func `a value from disk counts from when it was requested`() async throws {
    let first = EntityDesk()
    try await first.fetch("a", Article(7, "one"))
    first.bench.clock.advance(by: .seconds(10))
    try await first.fetch(Article(7, "two"))
    first.bench.clock.advance(by: .seconds(10))
    try await first.fetch("b", Article(8, "eight"))
    // In both orders.
    for isListFirst in [true, false] {
      let desk = EntityDesk(first.bench.restarted())
      if isListFirst { #expect(try await desk.lists.fetch("a").map(\.title) == ["one"]) }
      #expect(try await desk.articles.fetch("articles/7").title == "two")
      #expect(try await desk.lists.fetch("a").map(\.title) == ["two"])
    }
    #expect(first.bench.transport.requestCount == 3)
  }

  @Test func `a request is newer than a value that was loaded before it`() async throws {
    let first = EntityDesk()
    try await first.fetch("a", Article(7, "one"))
    let desk = EntityDesk(first.bench.restarted())
    _ = try await desk.lists.fetch("a")
    // The clock is set back: the dates say otherwise.
    desk.bench.clock.setWallClock(back: .seconds(3_600))
    try await desk.fetch(Article(7, "two"))
    #expect(desk.titles("a") == ["two"])
    #expect(desk.title(7) == "two")
  }

  @Test func `a removal leaves a mark, which a later list lifts and an earlier one does not`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "one"), Article(8, "other"))
    try await desk.fetch(Article(7, "two"))
    let (task, gate) = try await desk.begin("b", Article(7, "old"), Article(9, "nine"))
    desk.bench.layer.remove(Article.self, id: 7)
    #expect(desk.titles("a") == ["other"])
    #expect(desk.title(7) == nil)
    gate.open()
    #expect(try await task.value.map(\.title) == ["nine"])
    #expect(desk.titles("a") == ["other"])
    try await desk.fetch("c", Article(7, "back"))
    #expect(desk.titles("c") == ["back"])
    #expect(desk.titles("a") == ["back", "other"])
    #expect(desk.titles("b") == ["back", "nine"])
    #expect(desk.title(7) == "back")
  }

  @Test func `a removal holds for a request under way, although no copy holds the id`() async throws {
    let desk = EntityDesk()
    let (task, gate) = try await desk.begin("a", Article(7, "old"), Article(8, "other"))
    desk.bench.layer.remove(Article.self, id: 7)
    gate.open()
    #expect(try await task.value.map(\.title) == ["other"])
  }

  @Test func `the next fetch of a removed entity asks the server`() async throws {
    let desk = EntityDesk()
    try await desk.fetch(Article(7, "one"))
    var states = desk.articles.states(for: "articles/7", policy: .cacheOnly).makeAsyncIterator()
    #expect(await states.next()?.value?.title == "one")
    desk.bench.layer.remove(Article.self, id: 7)
    #expect(await states.next()?.value == nil)
    let error = await TestSupport.error { try await desk.articles.fetch("articles/7", policy: .cacheOnly) }
    guard case .notCached? = error else { return #expect(Bool(false), "\(String(describing: error))") }
    desk.bench.transport.answer("/v1/articles/7", with: .json(Article(7, "again").json, fields: EntityDesk.fresh))
    #expect(try await desk.articles.fetch("articles/7").title == "again")
    #expect(await states.first { $0.value != nil }?.value?.title == "again")
  }

  @Test func `the newest value goes with the last copy that holds the id`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "one"), Article(8, "other"))
    try await desk.fetch("b", Article(7, "two"))
    let table = desk.bench.layer.layer.entities
    #expect(table.count == 2)
    try await desk.lists.remove("a")
    #expect(table.count == 1)
    #expect(desk.titles("b") == ["two"])
    try await desk.lists.remove("b")
    #expect(table.count == 0)
  }

  @Test func `no record holds the value of another resource`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "one"))
    desk.bench.clock.advance(by: .seconds(10))
    try await desk.fetch(Article(7, "two"))
    #expect(desk.titles("a") == ["two"])
    #expect(try await desk.stored("a") == "[\(Article(7, "one").json)]")
    let again = EntityDesk(desk.bench.restarted())
    #expect(try await again.lists.fetch("a").map(\.title) == ["one"])
    #expect(try await again.articles.fetch("articles/7").title == "two")
    #expect(again.titles("a") == ["two"])
  }

  @Test func `a model that is gone from one list stays in the others`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "one"), Article(8, "other"))
    try await desk.fetch("b", Article(7, "one"), Article(8, "other"))
    try await desk.fetch("b", Article(8, "new"))
    #expect(desk.titles("b") == ["new"])
    #expect(desk.titles("a") == ["one", "new"])
    // Malformed in one list, and pruned there.
    desk.bench.transport.answer("/v1/b", with: .json(#"[{"id":7},{"id":8,"title":"newer"}]"#, fields: EntityDesk.fresh))
    _ = try await desk.lists.fetchFromNetwork("b")
    #expect(desk.titles("b") == ["newer"])
    #expect(desk.titles("a") == ["one", "newer"])
  }

  @Test func `a save of a list is the newest value of its members`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("b", Article(7, "one"))
    let (task, gate) = try await desk.begin("c", Article(7, "under way"))
    try await desk.lists.save([Article(7, "mine")], for: "a")
    #expect(desk.titles("b") == ["mine"])
    gate.open()
    #expect(try await task.value.map(\.title) == ["mine"])
    try await desk.fetch(Article(7, "server"))
    #expect(desk.titles("a") == ["server"])
    #expect(try await desk.stored("a")?.contains("mine") == true)
  }

  @Test func `a sign-out forgets the entities`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "one"))
    try await desk.fetch(Article(7, "two"))
    desk.bench.layer.remove(Article.self, id: 9)
    try await desk.bench.layer.removeAll()
    #expect(desk.bench.layer.layer.entities.count == 0)
    #expect(desk.titles("a") == nil)
    try await desk.fetch("a", Article(7, "anew"), Article(9, "nine"))
    #expect(desk.titles("a") == ["anew", "nine"])
  }

  @Test func `a value that must not be stored is shown in no other copy`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "one"))
    desk.bench.transport.answer(
      "/v1/articles/7", with: .json(Article(7, "secret").json, fields: [.cacheControl: "no-store"]))
    #expect(try await desk.articles.fetchFromNetwork("articles/7").title == "secret")
    #expect(desk.titles("a") == ["one"])
  }

  @Test func `the answer to a change is newer than what was requested before`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "one"))
    let (task, gate) = try await desk.begin("b", Article(7, "old"))
    desk.bench.transport.answer("/v1/articles/7", with: .json(Article(7, "put").json))
    _ = try await desk.articles.send(Resource("articles/7", method: .put))
    #expect(desk.titles("a") == ["put"])
    gate.open()
    #expect(try await task.value.map(\.title) == ["put"])
  }
}

/// A page whose members look into the reactors while they are updated and compared.
private struct NosyPage: Codable, EntityContainer {
  struct Member: Codable, Entity, Equatable {
    var id: Int
    var title: String

    static func == (a: Member, b: Member) -> Bool {
      NosyPage.look()
      return a.id == b.id && a.title == b.title
    }
  }

  var members: [Member]

  static let looker = Mutex<(@Sendable () -> Void)?>(nil)
  static let looks = Mutex(0)

  static func look() {
    looks.withLock { $0 += 1 }
    looker.withLock(\.self)?()
  }

  mutating func updateMembers(_ body: (Member) -> Member?) {
    Self.look()
    members.updateMembers(body)
  }
}

@Suite("Entities whose code calls back", .timeLimit(.minutes(5)))
struct EntityCallbackTests {
  @Test func `members are updated and compared without a lock`() async throws {
    let bench = Bench(except: [.ownSteps])
    let pages = bench.layer.reactor(NosyPage.self)
    NosyPage.looker.withLock {
      $0 = {
        // Each takes a lock: the reactor's, the table's.
        _ = pages.cached("elsewhere")
        _ = bench.layer.layer.entities.count
      }
    }
    defer { NosyPage.looker.withLock { $0 = nil } }
    let page = #"{"members":[{"id":7,"title":"one"}]}"#
    bench.transport.answer("/v1/a", with: .json(page, fields: EntityDesk.fresh))
    bench.transport.answer("/v1/b", with: .json(page, fields: EntityDesk.fresh))
    var states = pages.states(for: "a").makeAsyncIterator()
    #expect(await states.first { $0.value != nil }?.value?.members.first?.title == "one")
    _ = try await pages.fetch("b")
    try await pages.save(NosyPage(members: [NosyPage.Member(id: 7, title: "two")]), for: "c")
    #expect(await states.first { $0.value?.members.first?.title == "two" } != nil)
    #expect(pages.cached("b")?.members.first?.title == "two")
    #expect(NosyPage.looks.withLock(\.self) >= 6)
  }
}

@Suite("Entities that streams show", .timeLimit(.minutes(5)))
struct EntityStreamTests {
  @Test func `a stream shows an entity's newer value at once, and an equal one is no state`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "one"), Article(8, "other"))
    var states = desk.lists.states(for: "a", policy: .cacheOnly).makeAsyncIterator()
    let first = await states.next()
    #expect(first?.value?.map(\.title) == ["one", "other"])
    try await desk.fetch(Article(8, "other"))
    try await desk.fetch(Article(7, "two"))
    let second = await states.next()
    #expect(second?.value?.map(\.title) == ["two", "other"])
    #expect(second.map { $0.revision } == first.map { $0.revision + 1 })
    desk.bench.layer.remove(Article.self, id: 7)
    #expect(await states.next()?.value?.map(\.title) == ["other"])
  }

  @Test func `the answer to a write that was under way is not shown after everything was removed`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "of ada"))
    let gate = Gate()
    desk.bench.transport.answer("/v1/7", with: .json(Article(7, "secret of ada").json).held(at: gate))
    let articles = desk.articles
    let write = Task { try await articles.send(Resource("7", method: .patch)) }
    try await gate.waitForArrival()
    try await desk.bench.layer.removeAll()
    try await desk.fetch("a", Article(7, "of grace"))
    gate.open()
    _ = try await write.value
    #expect(desk.lists.cached("a")?.map(\.title) == ["of grace"])
  }

  @Test func `a stream follows the members of each new list`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "one"))
    var states = desk.lists.states(for: "a", policy: .cacheOnly).makeAsyncIterator()
    _ = await states.next()
    try await desk.fetch("a", Article(8, "eight"))
    #expect(await states.next()?.value?.map(\.title) == ["eight"])
    try await desk.fetch(Article(7, "not shown"))
    try await desk.fetch(Article(8, "newer"))
    #expect(await states.next()?.value?.map(\.title) == ["newer"])
  }

  @Test func `a change updates only the watched copies, and others when they are read`() async throws {
    let desk = EntityDesk()
    // Of no other test's pages.
    let id = 304
    for index in 0..<20 {
      desk.bench.transport.answer("/v1/p\(index)", with: EntityDesk.page([Article(id, "one")]))
      _ = try await desk.pages.fetch(Resource("p\(index)"))
    }
    var watched = desk.pages.states(for: "p0", policy: .cacheOnly).makeAsyncIterator()
    _ = await watched.next()
    let before = ArticlePage.looks(at: id)
    try await desk.fetch(Article(id, "two"))
    #expect(await watched.next()?.value?.articles.map(\.title) == ["two"])
    #expect(ArticlePage.looks(at: id) == before + 1)
    #expect(desk.pages.cached("p1")?.articles.map(\.title) == ["two"])
    #expect(ArticlePage.looks(at: id) == before + 2)
    // Another entity has changed, and this copy has not.
    try await desk.fetch(Article(9, "nine"))
    try await desk.fetch("b", Article(9, "ten"))
    #expect(desk.pages.cached("p1")?.articles.map(\.title) == ["two"])
    #expect(ArticlePage.looks(at: id) == before + 2)
  }

  @Test func `a draft of a list lies over newer values of its entities`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(7, "one"), Article(8, "other"))
    let gate = Gate()
    desk.bench.transport.answer("/v1/like", with: .accepted.held(at: gate))
    let write = Task {
      try await desk.lists.mutate("a", by: Resource("like", method: .post)) { list in
        for index in list.indices { list[index].title += "!" }
      }
    }
    try await desk.bench.log.wait(for: .drafted)
    #expect(desk.titles("a") == ["one!", "other!"])
    try await desk.fetch(Article(7, "two"))
    #expect(desk.titles("a") == ["two!", "other!"])
    #expect(desk.lists.confirmed("a")?.map(\.title) == ["two", "other"])
    #expect(desk.title(7) == "two")
    gate.open()
    try await write.value
    #expect(desk.titles("a") == ["two!", "other!"])
    // Requested after the acceptance: the server's word.
    try await desk.fetch(Article(7, "three"))
    #expect(desk.titles("a") == ["three", "other!"])
    #expect(desk.lists.confirmed("a")?.map(\.title) == ["three", "other!"])
  }
}
