import Foundation
import ReactorCore
import ReactorOutbox
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

struct Story: Codable, Entity, Equatable {
  var id: Int
  var title: String

  var json: String { #"{"id":\#(id),"title":"\#(title)"}"# }
}

struct AddStory: Mutation {
  typealias Answer = Story

  var id = TemporaryID()
  var title: String

  func request(_ known: Known) throws -> Resource { try Resource("stories", method: .post, json: ["title": title]) }

  func draft(_ drafts: inout Drafts) {
    drafts.change([Story].self, at: "stories") { [id, title] stories in
      if !stories.contains(where: { $0.id == id.int }) { stories.append(Story(id: id.int, title: title)) }
    }
  }

  func settle(_ story: Story, _ settlement: inout Settlement) { settlement.identify(id, as: story.id) }
}

struct RenameStory: Mutation {
  typealias Answer = Story

  var id: Int
  var title: String

  func request(_ known: Known) async throws -> Resource {
    let story = await known.value(Story.self, at: Resource("stories/\(id)"))
    return try Resource("stories/\(id)", method: .patch, json: ["title": story?.title ?? title])
  }

  func draft(_ drafts: inout Drafts) { drafts.change(Story.self, id: id) { [title] in $0.title = title } }
}

struct DeleteStory: Mutation {
  var id: Int

  func request(_ known: Known) throws -> Resource { Resource("stories/\(id)", method: .delete) }
  func draft(_ drafts: inout Drafts) { drafts.remove(Story.self, id: id) }
  func settle(_ answer: Void, _ settlement: inout Settlement) { settlement.remove(Story.self, id: id) }
}

/// Renames a story by a draft that is counted for as long as it is alive.
private struct CountedRename: Mutation {
  typealias Answer = Story

  static let living = Shared(0)

  private final class Token: Sendable {
    init() { CountedRename.living.change { $0 += 1 } }
    deinit { CountedRename.living.change { $0 -= 1 } }
  }

  var id: Int

  func request(_ known: Known) throws -> Resource { Resource("stories/\(id)", method: .patch) }

  func draft(_ drafts: inout Drafts) {
    let token = Token()
    drafts.change(Story.self, id: id) { story in withExtendedLifetime(token) { story.title = "mine" } }
  }
}

@Suite("Mutations of entities", .timeLimit(.minutes(5)))
struct EntityMutationTests {
  private static func list(_ stories: [Story]) -> ScriptedTransport.Answer {
    .json("[\(stories.map(\.json).joined(separator: ","))]", fields: [.cacheControl: "max-age=600"])
  }

  private struct Desk {
    let writer: Writer
    let lists: Reactor<[Story]>
    let stories: Reactor<Story>

    init(_ writer: Writer? = nil) {
      self.writer =
        writer ?? Writer { $0.mutations += [AddStory.self, RenameStory.self, DeleteStory.self] as [any Mutation.Type] }
      lists = self.writer.layer.reactor()
      stories = self.writer.layer.reactor()
    }

    func fetch(_ path: String, _ list: Story...) async throws {
      writer.transport.answer("/v1/\(path)", with: EntityMutationTests.list(list))
      _ = try await lists.fetchFromNetwork(Resource(path))
    }

    func fetch(_ story: Story) async throws {
      writer.transport.answer(
        "/v1/stories/\(story.id)", with: .json(story.json, fields: [.cacheControl: "max-age=600"]))
      _ = try await stories.fetchFromNetwork(Resource("stories/\(story.id)"))
    }

    func titles(_ path: String) -> [String]? { lists.cached(Resource(path))?.map(\.title) }
    func title(_ id: Int) -> String? { stories.cached(Resource("stories/\(id)"))?.title }
  }

  @Test func `a draft of an entity shows in every copy that holds the id`() async throws {
    let desk = Desk()
    try await desk.fetch("stories", Story(id: 7, title: "a"), Story(id: 8, title: "b"))
    try await desk.fetch("top", Story(id: 7, title: "a"))
    try await desk.fetch(Story(id: 7, title: "a"))
    let states = desk.lists.states(for: "top", policy: .cacheOnly)
    var iterator = states.makeAsyncIterator()
    _ = await iterator.next()
    desk.writer.outbox.pause()
    let submission = try await desk.writer.layer.submit(RenameStory(id: 7, title: "new"))
    #expect(desk.titles("stories") == ["new", "b"])
    #expect(desk.title(7) == "new")
    let state = await iterator.next()
    #expect(state?.value?.map(\.title) == ["new"])
    #expect(state?.drafts == [submission.id])
    #expect(desk.lists.confirmed("top")?.map(\.title) == ["a"])
    // A list that arrives later shows it too.
    try await desk.fetch("other", Story(id: 7, title: "a"))
    #expect(desk.titles("other") == ["new"])
    #expect(await desk.writer.outbox.withdraw(submission.id))
    #expect(await iterator.next()?.value?.map(\.title) == ["a"])
    #expect(desk.titles("stories") == ["a", "b"])
    #expect(desk.title(7) == "a")
  }

  @Test func `an accepted answer that is an entity is its newest value`() async throws {
    let desk = Desk()
    try await desk.fetch("top", Story(id: 7, title: "a"))
    desk.writer.transport.answer("/v1/stories/7", with: .json(Story(id: 7, title: "New, by the server").json))
    let submission = try await desk.writer.layer.submit(RenameStory(id: 7, title: "new"))
    #expect(try await submission.answer().title == "New, by the server")
    #expect(desk.titles("top") == ["New, by the server"])
    #expect(desk.lists.confirmed("top")?.map(\.title) == ["New, by the server"])
    try await desk.fetch("top", Story(id: 7, title: "later"))
    #expect(desk.titles("top") == ["later"])
  }

  @Test func `the answer to a write does not replace a list that was requested after it began`() async throws {
    let desk = Desk()
    try await desk.fetch("top", Story(id: 7, title: "a"))
    let gate = Gate()
    let answer = ScriptedTransport.Answer.json(Story(id: 7, title: "mine, by the server").json).held(at: gate)
    desk.writer.transport.answer("/v1/stories/7", with: answer)
    let submission = try await desk.writer.layer.submit(RenameStory(id: 7, title: "mine"))
    try await gate.waitForArrival()
    try await desk.fetch("top", Story(id: 7, title: "of others"))
    #expect(desk.lists.confirmed("top")?.map(\.title) == ["of others"])
    gate.open()
    _ = try await submission.answer()
    // The list may be from before the write, so its draft stays.
    #expect(desk.titles("top") == ["mine"])
    try await desk.fetch("top", Story(id: 7, title: "later"))
    #expect(desk.titles("top") == ["later"])
  }

  /// The outbox keeps a hundred accepted entries with their drafts, for ten minutes.
  @Test func `the drafts of accepted writes are released, however many there are`() async throws {
    for count in [120, 240, 480] {
      let desk = Desk(Writer { $0.mutations.append(CountedRename.self) })
      for id in 0..<count {
        desk.writer.transport.answer("/v1/stories/\(id)", with: .json(Story(id: id, title: "mine").json))
        _ = try await desk.writer.layer.submit(CountedRename(id: id)).answer()
      }
      #expect(CountedRename.living.value <= 105, "after \(count) writes")
    }
  }

  @Test func `a refusal removes the draft of an entity from every copy`() async throws {
    let desk = Desk()
    try await desk.fetch("top", Story(id: 7, title: "a"))
    try await desk.fetch("stories", Story(id: 7, title: "a"))
    desk.writer.transport.answer("/v1/stories/7", with: refused)
    let submission = try await desk.writer.layer.submit(RenameStory(id: 7, title: "new"))
    #expect(desk.titles("top") == ["new"])
    _ = await TestSupport.error { try await submission.answer() }
    #expect(desk.titles("top") == ["a"])
    #expect(desk.titles("stories") == ["a"])
  }

  @Test func `a removal is shown at once, and stays when the server has accepted it`() async throws {
    let desk = Desk()
    try await desk.fetch("top", Story(id: 7, title: "a"), Story(id: 8, title: "b"))
    desk.writer.transport.answer("/v1/stories/7", with: accepted)
    let submission = try await desk.writer.layer.submit(DeleteStory(id: 7))
    #expect(desk.titles("top") == ["b"])
    try await submission.answer()
    #expect(desk.titles("top") == ["b"])
    // A list that is requested later has it again.
    try await desk.fetch("stories", Story(id: 7, title: "back"))
    #expect(desk.titles("stories") == ["back"])
    #expect(desk.titles("top") == ["back", "b"])
  }

  @Test func `an entity that a draft has inserted can be drafted by its temporary id`() async throws {
    let desk = Desk()
    try await desk.fetch("stories", Story(id: 7, title: "a"))
    desk.writer.outbox.pause()
    let add = AddStory(title: "b")
    try await desk.writer.layer.submit(add)
    var states = desk.lists.states(for: "stories", policy: .cacheOnly).makeAsyncIterator()
    #expect(await states.next()?.value?.map(\.title) == ["a", "b"])
    try await desk.writer.layer.submit(RenameStory(id: add.id.int, title: "c"))
    #expect(await states.next()?.value?.map(\.title) == ["a", "c"])
    desk.writer.transport.answer("/v1/stories", with: .json(Story(id: 9, title: "b").json))
    desk.writer.transport.answer("/v1/stories/9", with: .json(Story(id: 9, title: "c").json))
    desk.writer.outbox.resume()
    await desk.writer.wait()
    #expect(desk.lists.cached("stories")?.map(\.id) == [7, 9])
    #expect(desk.titles("stories") == ["a", "c"])
  }

  @Test func `the draft of an entity survives a restart`() async throws {
    let desk = Desk(
      Writer(storage: MemoryStore()) { $0.mutations += [AddStory.self, RenameStory.self] as [any Mutation.Type] })
    try await desk.fetch("stories", Story(id: 7, title: "a"))
    desk.writer.bench.reachability.set(false)
    try await desk.writer.layer.submit(RenameStory(id: 7, title: "new"))
    await desk.writer.wait(for: "waiting, connectivity")
    let again = Desk(
      desk.writer.relaunched { $0.mutations += [AddStory.self, RenameStory.self] as [any Mutation.Type] })
    #expect(try await again.lists.fetch("stories", policy: .cacheOnly).map(\.title) == ["new"])
    #expect(again.writer.outbox.entries.count == 1)
  }
}
