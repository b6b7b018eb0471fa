import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// A card with two fields, which mutations set one by one.
private struct Card: Codable, Hashable, Sendable {
  var title = "t"
  var color = "c"
}

private struct Paint: Mutation {
  var title: String?
  var color: String?
  var path: String

  func request(_ known: Known) -> Resource { Resource(path, method: .post) }

  func draft(_ drafts: inout Drafts) {
    drafts.change(Card.self, at: "card") { [title, color] card in
      if let title { card.title = title }
      if let color { card.color = color }
    }
  }
}

/// A mutation whose request cannot be made.
private struct Impossible: Mutation {
  struct Reason: Error {}

  func request(_ known: Known) throws -> Resource { throw Reason() }

  func draft(_ drafts: inout Drafts) { drafts.change([String].self, at: "list") { $0.append("never") } }
}

/// The bugs of other libraries that must not occur; the rows are those of the guide on writing.
@Suite("Optimistic updates of others, through an outbox", .timeLimit(.minutes(5)))
struct RowTests {
  @Test func `rows 1 to 3: of two queued writes the first is refused, and the second captured nothing of it`()
    async throws
  {
    let writer = Writer()
    try await writer.fetch("a")
    let gate = Gate()
    writer.transport.answer("/v1/b", with: refused.held(at: gate))
    writer.transport.answer("/v1/c", with: refused)
    let first = try await writer.layer.submit(Add(name: "b"))
    let second = try await writer.layer.submit(Add(name: "c"))
    #expect(writer.shown == ["a", "b", "c"])
    gate.open()
    _ = await TestSupport.error { try await first.answer() }
    _ = await TestSupport.error { try await second.answer() }
    #expect(writer.shown == ["a"])
    try await writer.end()
  }

  @Test func `row 4 and row A: a read that overlaps a write begins again after it, and shows neither less nor twice`()
    async throws
  {
    let writer = Writer()
    try await writer.fetch("a")
    let (hold, gate) = (Gate(), Gate())
    writer.transport.answer(
      "/v1/list", with: Writer.answer(["a", "old"]).held(at: hold, ignoresCancellation: true),
      Writer.answer(["a", "b"]))
    let read = Task { try await writer.notes.fetchFromNetwork(writer.list) }
    try await hold.waitForArrival()
    writer.transport.answer("/v1/b", with: .json("\"done\"").held(at: gate))
    let submission = try await writer.layer.submit(Add(name: "b"))
    try await gate.waitForArrival()
    hold.open()
    #expect(writer.shown == ["a", "b"])
    gate.open()
    _ = try await submission.answer()
    #expect(try await read.value == ["a", "b"])
    #expect(writer.shown == ["a", "b"])
    try await writer.end()
  }

  @Test func `row 6 and row B: a newer base shows through the draft, whose refusal inverts nothing`() async throws {
    let writer = Writer()
    try await writer.fetch("a")
    writer.outbox.pause()
    let submission = try await writer.layer.submit(Add(name: "b"))
    writer.transport.answer("/v1/list", with: Writer.answer(["x", "y", "a"]))
    _ = try await writer.notes.fetchFromNetwork(writer.list)
    #expect(writer.shown == ["x", "y", "a", "b"])
    writer.transport.answer("/v1/b", with: refused)
    writer.outbox.resume()
    _ = await TestSupport.error { try await submission.answer() }
    #expect(writer.shown == ["x", "y", "a"])
    try await writer.end()
  }

  @Test func `row 9: of three writes to one value the second is refused, and the others stay whole`() async throws {
    let writer = Writer()
    let cards: Reactor<Card> = writer.layer.reactor()
    writer.transport.answer(
      "/v1/card", with: .json(#"{"title":"t","color":"c"}"#, fields: [.cacheControl: "max-age=600"]))
    _ = try await cards.fetch("card")
    writer.transport.answer("/v1/one", with: accepted)
    writer.transport.answer("/v1/two", with: refused)
    writer.transport.answer("/v1/three", with: accepted)
    try await writer.layer.submit(Paint(title: "T", path: "one"))
    let second = try await writer.layer.submit(Paint(title: "no", color: "no", path: "two"))
    let third = try await writer.layer.submit(Paint(color: "C", path: "three"))
    _ = await TestSupport.error { try await second.answer() }
    try await third.answer()
    #expect(cards.cached("card") == Card(title: "T", color: "C"))
    try await writer.end()
  }

  @Test func `row 10: a request that cannot be made takes its draft away, and is listed`() async throws {
    let writer = Writer()
    try await writer.fetch("a")
    let submission = try await writer.layer.submit(Impossible())
    _ = await TestSupport.error { try await submission.answer() }
    #expect(writer.shown == ["a"])
    #expect(writer.states == ["refused"])
    #expect(writer.sent.isEmpty)
    try await writer.end()
  }

  @Test func `row 11: a payload is made at its turn, from what is confirmed, without what was refused`() async throws {
    let handler = PutHandler([refused, .response(.noContent)])
    let writer = Writer(on: Bench(transport: ScriptedTransport(handler: handler.answer)))
    _ = try await writer.notes.fetch("list")
    writer.outbox.pause()
    let first = try await writer.layer.submit(Append(name: "b"))
    let second = try await writer.layer.submit(Append(name: "c"))
    #expect(writer.shown == ["a", "b", "c"])
    writer.outbox.resume()
    _ = await TestSupport.error { try await first.answer() }
    _ = try await second.answer()
    #expect(handler.puts.map(\.body) == [#"["a","b"]"#, #"["a","c"]"#])
    try await writer.end()
  }

  @Test func `row E: an item keeps its temporary id over every newer base`() async throws {
    let writer = Writer()
    let items: Reactor<[Item]> = writer.layer.reactor()
    let fields: HTTPFields = [.cacheControl: "max-age=600"]
    writer.transport.answer(
      "/v1/items", with: .json("[]", fields: fields), .json(#"[{"id":1,"name":"one"}]"#, fields: fields))
    _ = try await items.fetch("items")
    writer.outbox.pause()
    let add = AddItem(name: "x")
    try await writer.layer.submit(add)
    #expect(items.cached("items")?.map(\.id) == [add.id.int])
    _ = try await items.fetchFromNetwork("items")
    #expect(items.cached("items")?.map(\.id) == [1, add.id.int])
    try await writer.end()
  }
}
