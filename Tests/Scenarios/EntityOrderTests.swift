import Foundation
import HTTPTypes
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

@testable import ReactorCore

@Suite("The order of an entity's values", .timeLimit(.minutes(5)))
struct EntityOrderTests {
  private let desk = EntityDesk()
  private var bench: Bench { desk.bench }

  /// Changes article 7 by a request whose answer has `title`.
  private func write(_ title: String) async throws {
    bench.transport.answer("/v1/articles/7", with: .json(Article(7, title).json))
    _ = try await desk.articles.send(Resource("articles/7", method: .patch))
  }

  /// Keeps a list in memory while all else is evicted.
  private func watch(_ path: String) async -> LoadStates<[Article]>.Iterator {
    var states = desk.lists.states(for: Resource(path), policy: .cacheOnly).makeAsyncIterator()
    _ = await states.next()
    return states
  }

  @Test(arguments: [false, true])
  func `a record from before a write brings no old value back`(isSetBack: Bool) async throws {
    try await desk.fetch("a", Article(7, "old"), Article(8, "other"))
    try await desk.fetch("b", Article(7, "old"))
    let states = await watch("b")
    if isSetBack { bench.clock.setWallClock(back: .seconds(60)) }
    bench.layer.evictUnused()
    bench.clock.advance(by: .seconds(10))
    try await write("new")
    // The dates say by now that the record is newer than the write.
    bench.clock.advance(by: .seconds(100))
    #expect(desk.titles("a") == nil)
    #expect(try await desk.lists.fetch("a", policy: .cacheOnly).map(\.title) == ["new", "other"])
    #expect(desk.titles("b") == ["new"])
    withExtendedLifetime(states) {}
  }

  @Test func `a record requested before a write brings no old value back, even with a later date`() async throws {
    try await desk.fetch("b", Article(7, "old"))
    let states = await watch("b")
    bench.clock.setWallClock(forward: .seconds(3_600))
    let (list, gate) = try await desk.begin("a", Article(7, "old"), Article(8, "other"))
    bench.clock.setWallClock(back: .seconds(3_600))
    try await write("new")
    bench.clock.advance(by: .seconds(10))
    gate.open()
    #expect(try await list.value.map(\.title) == ["new", "other"])
    bench.layer.evictUnused()
    bench.clock.advance(by: .seconds(10))
    #expect(try await desk.lists.fetch("a", policy: .cacheOnly).map(\.title) == ["new", "other"])
    #expect(desk.titles("b") == ["new"])
    withExtendedLifetime(states) {}
  }

  @Test(arguments: [false, true])
  func `a record from before a removal does not bring the entity back`(isHeld: Bool) async throws {
    try await desk.fetch("a", Article(7, "old"), Article(8, "other"))
    try await desk.fetch("b", Article(7, "old"))
    let states = isHeld ? await watch("b") : nil
    bench.layer.evictUnused()
    bench.clock.advance(by: .seconds(10))
    bench.layer.remove(Article.self, id: 7)
    bench.clock.advance(by: .seconds(10))
    #expect(try await desk.lists.fetch("a", policy: .cacheOnly).map(\.title) == ["other"])
    #expect(try await desk.lists.fetch("b", policy: .cacheOnly).map(\.title) == [])
    withExtendedLifetime(states) {}
  }

  @Test func `a record from an earlier process is older than each write of this one`() async throws {
    try await desk.fetch("a", Article(7, "old"))
    let next = EntityDesk(bench.restarted())
    next.bench.clock.advance(by: .seconds(10))
    next.bench.transport.answer("/v1/articles/7", with: .json(Article(7, "new").json))
    _ = try await next.articles.send(Resource("articles/7", method: .patch))
    #expect(try await next.lists.fetch("a").map(\.title) == ["new"])
  }

  @Test func `a list that was requested after a write counts as newer once it is loaded again`() async throws {
    try await desk.fetch("b", Article(7, "old"))
    let states = await watch("b")
    try await write("new")
    try await desk.fetch("a", Article(7, "newest"))
    bench.layer.evictUnused()
    #expect(desk.titles("a") == nil)
    #expect(try await desk.lists.fetch("a", policy: .cacheOnly).map(\.title) == ["newest"])
    #expect(desk.titles("b") == ["newest"])
    withExtendedLifetime(states) {}
  }

  @Test func `a list that another type of model requested after a write counts as newer`() async throws {
    try await desk.fetch("b", Article(7, "old"))
    let states = await watch("b")
    try await write("new")
    bench.clock.advance(by: .seconds(10))
    bench.transport.answer("/v1/a", with: EntityDesk.list([Article(7, "newest")]))
    let texts: Reactor<String> = bench.layer.reactor()
    _ = try await texts.fetch("a")
    #expect(try await desk.lists.fetch("a", policy: .cacheOnly).map(\.title) == ["newest"])
    #expect(desk.titles("b") == ["newest"])
    withExtendedLifetime(states) {}
  }

  @Test func `the answer to a write does not replace a value that was requested after it began`() async throws {
    try await desk.fetch("a", Article(7, "one"))
    let gate = Gate()
    bench.transport.answer("/v1/articles/7", with: .json(Article(7, "two").json).held(at: gate))
    let write = Task { [desk] in try await desk.articles.send(Resource("articles/7", method: .patch)) }
    try await gate.waitForArrival()
    try await desk.fetch("a", Article(7, "three"))
    gate.open()
    _ = try await write.value
    #expect(desk.titles("a") == ["three"])
  }

  @Test func `an answer is newer than a list that was requested before its write, whichever comes first`() async throws
  {
    try await desk.fetch("b", Article(7, "one"))
    for isListFirst in [true, false] {
      let (list, asked) = try await desk.begin("a", Article(7, "before"))
      let gate = Gate()
      let title = "answer, \(isListFirst)"
      bench.transport.answer("/v1/articles/7", with: .json(Article(7, title).json).held(at: gate))
      let write = Task { [desk] in try await desk.articles.send(Resource("articles/7", method: .patch)) }
      try await gate.waitForArrival()
      if isListFirst {
        asked.open()
        _ = try await list.value
        gate.open()
        _ = try await write.value
      } else {
        gate.open()
        _ = try await write.value
        asked.open()
        _ = try await list.value
      }
      #expect(desk.titles("b") == [title])
      #expect(desk.titles("a") == [title])
    }
  }

  /// The server may have answered the list before it carried the write out.
  @Test func `the change of a write with a draft stays over a list that was requested meanwhile`() async throws {
    try await desk.fetch("a", Article(7, "one"))
    let context = bench.layer.layer
    let draft = Draft(id: UUID(), entity: 7, of: Article.self) { Article($0.id, "mine") }
    context.show([draft])
    let start = try await context.beginSending(draft.id, [])
    try await desk.fetch("a", Article(7, "one"))
    context.accept([draft])
    context.note(Article(7, "mine, by the server"), of: start)
    context.endSending(draft.id, [])
    #expect(desk.titles("a") == ["mine"])
    try await desk.fetch("a", Article(7, "mine, by the server"))
    #expect(desk.titles("a") == ["mine, by the server"])
  }

  @Test func `the answer to a write replaces its own draft on screen`() async throws {
    try await desk.fetch("a", Article(7, "one"))
    let context = bench.layer.layer
    let draft = Draft(id: UUID(), entity: 7, of: Article.self) { Article($0.id, "mine") }
    context.show([draft])
    let start = try await context.beginSending(draft.id, [])
    context.accept([draft])
    #expect(desk.titles("a") == ["mine"])
    context.note(Article(7, "mine, by the server"), of: start)
    context.endSending(draft.id, [])
    #expect(desk.titles("a") == ["mine, by the server"])
    #expect(desk.lists.confirmed("a")?.map(\.title) == ["mine, by the server"])
  }

  @Test func `the later of two values in one response counts`() async throws {
    try await desk.fetch("a", Article(7, "one"))
    let context = bench.layer.layer
    let start = try await context.beginSending(UUID(), [])
    context.note(Article(7, "two"), of: start)
    context.note(Article(7, "three"), of: start)
    #expect(desk.titles("a") == ["three"])
    context.remove(Article.self, id: 7, of: start)
    #expect(desk.titles("a") == [])
  }
}
