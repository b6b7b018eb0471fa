import Foundation
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

@testable import ReactorCore

@Suite("Drafts of entities whose writes have ended", .timeLimit(.minutes(5)))
struct EndedEntityDraftTests {
  private let living = LivingDrafts()

  /// Makes an accepted write of each entity.
  ///
  /// - Parameter isAnswered: `true` if each answer is the entity's value.
  private func write(_ count: Int, in desk: EntityDesk, isAnswered: Bool) async throws {
    let context = desk.bench.layer.layer
    for id in 0..<count {
      let draft = living.make(ofArticle: id)
      context.show([draft])
      let start = try await context.beginSending(draft.id, [])
      context.accept([draft])
      if isAnswered { context.note(Article(id, "mine, by the server"), of: start) }
      context.endSending(draft.id, [])
    }
  }

  @Test(arguments: [50, 200, 800])
  func `the draft of an entity is released once an answer has its change`(count: Int) async throws {
    let desk = EntityDesk()
    let list = (0..<count).map { Article($0, "one") }
    desk.bench.transport.answer("/v1/a", with: EntityDesk.list(list))
    _ = try await desk.lists.fetch("a")
    try await write(count, in: desk, isAnswered: true)
    #expect(living.count == 0)
    #expect(desk.titles("a") == list.map { _ in "mine, by the server" })
    try await write(5, in: desk, isAnswered: false)
    #expect(living.count == 5)
  }

  @Test(arguments: [50, 200, 800])
  func `the draft of an entity is released once a list that was requested later has come`(count: Int) async throws {
    let desk = EntityDesk()
    let list = (0..<count).map { Article($0, "one") }
    desk.bench.transport.answer("/v1/a", with: EntityDesk.list(list))
    _ = try await desk.lists.fetch("a")
    try await write(count, in: desk, isAnswered: false)
    #expect(living.count == count)
    #expect(desk.titles("a") == list.map { _ in "mine" })
    _ = try await desk.lists.fetchFromNetwork("a")
    #expect(living.count == 0)
    #expect(desk.titles("a") == list.map { _ in "one" })
  }

  @Test(arguments: [50, 200, 800])
  func `among drafts of entities that no copy contains, the latest are kept`(count: Int) async throws {
    let desk = EntityDesk()
    try await write(count, in: desk, isAnswered: false)
    #expect(living.count == min(count, EntityTable.saidLimit))
    #expect(desk.bench.layer.layer.entities.count == min(count, EntityTable.saidLimit))
  }

  @Test func `an accepted draft of an entity stays over an older value, however long that is shown`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(0, "one"), Article(1, "one"))
    try await write(1, in: desk, isAnswered: false)
    desk.bench.clock.advance(by: .seconds(3_600))
    try await write(2, in: desk, isAnswered: false)
    #expect(desk.titles("a") == ["mine", "mine"])
  }

  @Test func `nothing is left after everything was removed`() async throws {
    let desk = EntityDesk()
    try await desk.fetch("a", Article(0, "one"))
    let context = desk.bench.layer.layer
    try await write(1, in: desk, isAnswered: false)
    let pending = living.make(ofArticle: 0)
    context.show([pending])
    try await desk.bench.layer.removeAll()
    // Of a write that was under way.
    context.accept([pending])
    try await desk.fetch("a", Article(0, "of another user"))
    #expect(desk.titles("a") == ["of another user"])
    #expect(living.count == 1)
  }

  /// The looks at the members of a list while a draft of it is submitted.
  private func looks(after count: Int) async throws -> Int {
    let desk = EntityDesk()
    // Of no other test's pages.
    let id = 1_000_000 + count
    desk.bench.transport.answer("/v1/page", with: EntityDesk.page([Article(id, "one")]))
    _ = try await desk.pages.fetch("page")
    try await write(count, in: desk, isAnswered: true)
    let before = ArticlePage.looks(at: id)
    let key = try desk.bench.layer.layer.key("page")
    desk.bench.layer.layer.show([
      Draft(id: UUID(), key: key, of: ArticlePage.self) { page in
        var page = page
        page?.next = "more"
        return page
      }
    ])
    #expect(desk.pages.cached("page")?.next == "more")
    return ArticlePage.looks(at: id) - before
  }

  @Test func `the work of a draft does not grow with the accepted writes of other entities`() async throws {
    let few = try await looks(after: 10)
    #expect(try await looks(after: 100) == few)
    #expect(try await looks(after: 1_000) == few)
  }
}
