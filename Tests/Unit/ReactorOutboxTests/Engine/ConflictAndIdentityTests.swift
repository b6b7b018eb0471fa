import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// Replaces a list by a PUT, and reads the tag long after the value.
private struct SlowAppend: Mutation {
  static let gate = Gate()

  var name: String

  func request(_ known: Known) async throws -> Resource {
    let list = await known.value([String].self, at: "list") ?? []
    try await Self.gate.wait()
    var request = try Resource("list", method: .put, json: list + [name])
    request.headers[.ifMatch] = try await known.entityTag(of: "list")
    return request
  }
}

@Suite("Conflicts and ids", .timeLimit(.minutes(5)))
struct ConflictAndIdentityTests {
  @Test func `a 412 fetches again, and makes the request from the newer value under another key`() async throws {
    let handler = PutHandler([.response(.preconditionFailed)])
    let writer = Writer(on: Bench(transport: ScriptedTransport(handler: handler.answer)))
    _ = try await writer.notes.fetch("list")
    _ = try await writer.layer.submit(Append(name: "b")).answer()
    #expect(handler.puts.map(\.body) == [#"["a","b"]"#, #"["a","x","b"]"#])
    #expect(handler.puts.map(\.match) == ["\"1\"", "\"2\""])
    #expect(writer.shown == ["a", "x", "b"])
    try await writer.end()
  }

  @Test func `a request has the tag of the value that it was made from`() async throws {
    let writer = Writer()
    let version = { (names: [String], tag: String) in
      Writer.answer(names, [.cacheControl: "max-age=600", .eTag: "\"\(tag)\""])
    }
    writer.transport.answer("/v1/list", with: version(["a"], "1"), version(["a", "x"], "2"), accepted)
    _ = try await writer.notes.fetch("list")
    try await writer.layer.submit(SlowAppend(name: "b"))
    try await SlowAppend.gate.waitForArrival()
    _ = try await writer.notes.fetchFromNetwork("list")
    SlowAppend.gate.open()
    await writer.wait()
    let put = try #require(writer.transport.requests.first { $0.request.method == .put })
    #expect(put.request.headerFields[.ifMatch] == "\"1\"")
    #expect(put.body == Data(#"["a","b"]"#.utf8))
    try await writer.end()
  }

  @Test func `a request with a tag is not made from what an accepted write has made of an older answer`() async throws {
    let writer = Writer()
    let version = { (names: [String], tag: String) in
      Writer.answer(names, [.cacheControl: "max-age=600", .eTag: "\"\(tag)\""])
    }
    // Others remove the name again.
    writer.transport.answer("/v1/list", with: version(["a"], "1"), version(["a", "y"], "2"), accepted)
    writer.transport.answer("/v1/x", with: accepted)
    _ = try await writer.notes.fetch("list")
    try await writer.layer.submit(Add(name: "x"))
    await writer.wait()
    #expect(writer.confirmed == ["a", "x"])
    try await writer.layer.submit(Append(name: "b"))
    await writer.wait()
    let put = try #require(writer.transport.requests.first { $0.request.method == .put })
    #expect(put.request.headerFields[.ifMatch] == "\"2\"")
    #expect(put.body == Data(#"["a","y","b"]"#.utf8))
    try await writer.end()
  }

  @Test func `a request with the tag of a PUT is not made from what was accepted after that PUT was made`() async throws
  {
    let writer = Writer()
    let gate = Gate()
    let version = { (names: [String], tag: String) in
      Writer.answer(names, [.cacheControl: "max-age=600", .eTag: "\"\(tag)\""])
    }
    let replaced = ScriptedTransport.Answer.response(.noContent, fields: [.eTag: "\"3\""])
    writer.transport.answer(
      "/v1/list", with: version(["a"], "1"), replaced.held(at: gate), version(["a", "b"], "3"), accepted)
    writer.transport.answer("/v1/x", with: accepted)
    _ = try await writer.notes.fetch("list")
    let append = try await writer.layer.submit(Append(name: "b"))
    try await gate.waitForArrival()
    // The server carries it out first, and the PUT replaces the list that has it.
    let add = try await writer.layer.submit(Add(name: "x", lane: Lane(rawValue: "other")))
    _ = try? await add.answer()
    gate.open()
    _ = try await append.answer()
    try await writer.layer.submit(Append(name: "c"))
    await writer.wait()
    let puts = writer.transport.requests.filter { $0.request.method == .put }
    #expect(puts.map { $0.request.headerFields[.ifMatch] } == ["\"1\"", "\"3\""])
    #expect(puts.last?.body == Data(#"["a","b","c"]"#.utf8))
    try await writer.end()
  }

  @Test func `an entry is refused after six conflicts`() async throws {
    let handler = PutHandler(Array(repeating: .response(.preconditionFailed), count: 9))
    let writer = Writer(on: Bench(transport: ScriptedTransport(handler: handler.answer)))
    _ = try await writer.notes.fetch("list")
    let submission = try await writer.layer.submit(Append(name: "b"))
    _ = await TestSupport.error { try await submission.answer() }
    #expect(handler.puts.count == 6)
    #expect(writer.states == ["refused"])
    try await writer.end()
  }

  @Test func `an id from the server is written into what depends on it`() async throws {
    let writer = Writer(storage: MemoryStore())
    writer.transport.answer("/v1/items", with: .json("[]", fields: [.cacheControl: "max-age=600"]))
    let items: Reactor<[Item]> = writer.layer.reactor()
    _ = try await items.fetch("items")
    let gate = Gate()
    writer.transport.answer("/v1/items", with: .json(#"{"id":7,"name":"x"}"#).held(at: gate))
    writer.transport.answer("/v1/items/7", with: .json(#"{"id":7,"name":"y"}"#))
    let add = AddItem(name: "x")
    let created = try await writer.layer.submit(add)
    try await gate.waitForArrival()
    try await writer.layer.submit(RenameItem(id: add.id.int, name: "y", lane: "other"))
    #expect(writer.states == ["sending", "waiting, identity"])
    #expect(items.cached("items") == [Item(id: add.id.int, name: "y")])
    gate.open()
    #expect(try await created.answer().id == 7)
    await writer.wait()
    #expect(writer.sent == [#"POST /v1/items {"name":"x"}"#, #"PATCH /v1/items/7 {"name":"y"}"#])
    #expect(writer.outbox.identity(of: add.id) == .integer(7))
    // An entry that is submitted later, too.
    writer.transport.answer("/v1/items/7", with: .json(#"{"id":7,"name":"z"}"#))
    try await writer.layer.submit(RenameItem(id: add.id.int, name: "z"))
    await writer.wait()
    #expect(writer.sent.last == #"PATCH /v1/items/7 {"name":"z"}"#)
    try await writer.end()
  }

  @Test func `an entry that depends on a creation whose id could not be read is refused`() async throws {
    let writer = Writer(storage: MemoryStore())
    writer.transport.answer("/v1/items", with: .json("{"))
    let add = AddItem(name: "x")
    let created = try await writer.layer.submit(add)
    await #expect(throws: ReactorError.self) { try await created.answer() }
    let rename = try await writer.layer.submit(RenameItem(id: add.id.int, name: "y"))
    await #expect(throws: ReactorError.self) { try await rename.answer() }
    #expect(writer.sent.count == 1 && writer.states == ["refused"])
    try await writer.end()
  }

  @Test func `after an end that cannot be saved, its lane waits for the store`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    let gate = Gate()
    writer.transport.answer("/v1/b", with: accepted.held(at: gate))
    writer.transport.answer("/v1/c", with: accepted)
    let first = try await writer.layer.submit(Add(name: "b"))
    try await writer.layer.submit(Add(name: "c"))
    try await gate.waitForArrival()
    store.failure.store(true, ordering: .relaxed)
    gate.open()
    for milliseconds in [100, 200] {
      try await writer.clock.waitForSleeper(until: writer.clock.now.advanced(by: .milliseconds(milliseconds)))
      writer.clock.advance(by: .milliseconds(milliseconds))
    }
    _ = await TestSupport.error { try await first.answer() }
    try await writer.clock.waitForSleeper(until: writer.clock.now.advanced(by: .seconds(5)))
    #expect(writer.sent == ["POST /v1/b b"])
    store.failure.store(false, ordering: .relaxed)
    writer.clock.advance(by: .seconds(5))
    await writer.wait()
    #expect(writer.sent == ["POST /v1/b b", "POST /v1/c c"])
    let states = try await store.contents(of: .shared).entries.map { try OutboxEntry(decoding: $0).state }
    #expect(states == [.accepted, .accepted])
    try await writer.end()
  }

  @Test func `an id that could not be saved yet stays in what depends on it when the store is read`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store)
    writer.transport.answer("/v1/items", with: .json("[]", fields: [.cacheControl: "max-age=600"]))
    let items: Reactor<[Item]> = writer.layer.reactor()
    _ = try await items.fetch("items")
    let gate = Gate()
    writer.transport.answer("/v1/items", with: .json(#"{"id":7,"name":"x"}"#).held(at: gate))
    writer.transport.answer("/v1/items/7", with: .json(#"{"id":7,"name":"y"}"#))
    let add = AddItem(name: "x")
    let created = try await writer.layer.submit(add)
    try await gate.waitForArrival()
    try await writer.layer.submit(RenameItem(id: add.id.int, name: "y"))
    store.failure.store(true, ordering: .relaxed)
    gate.open()
    for milliseconds in [100, 200] {
      try await writer.clock.waitForSleeper(until: writer.clock.now.advanced(by: .milliseconds(milliseconds)))
      writer.clock.advance(by: .milliseconds(milliseconds))
    }
    #expect(try await created.answer().id == 7)
    #expect(items.cached("items") == [Item(id: 7, name: "y")])
    try await writer.outbox.reload()
    #expect(items.cached("items") == [Item(id: 7, name: "y")])
    try await writer.clock.waitForSleeper(until: writer.clock.now.advanced(by: .seconds(5)))
    store.failure.store(false, ordering: .relaxed)
    writer.clock.advance(by: .seconds(5))
    await writer.wait()
    #expect(writer.sent == [#"POST /v1/items {"name":"x"}"#, #"PATCH /v1/items/7 {"name":"y"}"#])
    try await writer.end()
  }

  @Test func `an entry that depends on a refused creation is refused too`() async throws {
    let writer = Writer()
    let gate = Gate()
    writer.transport.answer("/v1/items", with: refused.held(at: gate))
    let add = AddItem(name: "x")
    try await writer.layer.submit(add)
    try await gate.waitForArrival()
    let rename = try await writer.layer.submit(RenameItem(id: add.id.int, name: "y", lane: "other"))
    gate.open()
    _ = await TestSupport.error { try await rename.answer() }
    await writer.wait(for: "refused", "refused")
    #expect(writer.sent.count == 1)
    try await writer.end()
  }
}
