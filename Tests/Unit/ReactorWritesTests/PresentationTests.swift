import HTTPTypes
import ReactorCore
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

private struct Note: Codable, Entity, Equatable {
  var id: Int
  var text: String
}

/// A page that holds entities only if its elements are some.
private struct Page<Item: Codable & Sendable>: Codable, Sendable {
  var items: [Item]
}

extension Page: ModelLayer.PresentedModel, EntityContainer where Item: Entity {
  mutating func updateMembers(_ body: (Item) -> Item?) { items.updateMembers(body) }
}

@Suite(.timeLimit(.minutes(5))) struct `The presentation of a layer` {
  private let bench = Bench(except: [.ownSteps])

  private func answer(_ path: String, _ json: String) {
    bench.transport.answer("/v1/\(path)", with: .json(json, fields: [.cacheControl: "max-age=600"]))
  }

  @Test func `a layer that only reads has no drafts and no entities`() async throws {
    answer("numbers", "[1,2]")
    let numbers = bench.layer.reactor([Int].self)
    #expect(try await numbers.fetch("numbers") == [1, 2])
    try await numbers.save([1], for: "numbers")
    try await bench.layer.send(Resource("numbers", method: .post))
    try await bench.layer.removeAll()
    #expect(bench.layer.layer.presentation == nil)
  }

  @Test func `the first write of a layer shows its draft over a copy from before`() async throws {
    answer("numbers", "[1,2]")
    let gate = Gate()
    bench.transport.answer("/v1/change", with: .json("", fields: [:]).held(at: gate))
    let numbers = bench.layer.reactor([Int].self)
    _ = try await numbers.fetch("numbers")
    let write = Task { try await numbers.mutate("numbers", by: Resource("change", method: .post)) { $0.append(3) } }
    try await bench.transport.waitForRequests(count: 2)
    #expect(numbers.cached("numbers") == [1, 2, 3])
    #expect(numbers.confirmed("numbers") == [1, 2])
    gate.open()
    try await write.value
  }

  @Test func `a generic page holds entities if its elements are some`() async throws {
    answer("page", #"{"items":[{"id":1,"text":"old"}]}"#)
    answer("note", #"{"id":1,"text":"new"}"#)
    answer("numbers", #"{"items":[1]}"#)
    let pages = bench.layer.reactor(Page<Note>.self)
    _ = try await pages.fetch("page")
    _ = try await bench.layer.reactor(Note.self).fetch("note")
    #expect(pages.cached("page")?.items == [Note(id: 1, text: "new")])
    #expect(try await bench.layer.reactor(Page<Int>.self).fetch("numbers").items == [1])
  }
}
