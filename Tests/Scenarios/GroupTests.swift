import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@Suite("Groups and sets of resources", .timeLimit(.minutes(5)))
struct GroupTests {
  private let cached: HTTPFields = [.cacheControl: "max-age=600"]

  private func fields(_ name: String, _ value: String) throws -> HTTPFields {
    [.cacheControl: "max-age=600", try #require(HTTPField.Name(name)): value]
  }

  private func fetch(_ bench: Bench, _ resources: Resource...) async throws {
    for resource in resources { _ = try await bench.notes.fetch(resource) }
  }

  @Test func `a group is stale in memory, and nothing else is`() async throws {
    let bench = Bench(persistence: nil)
    for path in ["/v1/a", "/v1/b", "/v1/c"] {
      bench.transport.answer(path, with: .json(Note(1, "old").json, fields: cached), .json(Note(1, "new").json))
    }
    var (a, b) = (Resource("a"), Resource("b"))
    a.groups = ["feed"]
    b.groups = ["feed", "other"]
    try await fetch(bench, a, b, "c")
    await bench.layer.invalidate(.group("feed"))
    #expect(try await bench.notes.fetch(a).text == "new")
    #expect(try await bench.notes.fetch(b).text == "new")
    #expect(try await bench.notes.fetch("c").text == "old")
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test(arguments: ["a", "a?page=2", "a/7", "a/7/comments?x=1"])
  func `a path means its resource and those below it, with any query`(_ path: String) async throws {
    let bench = Bench(persistence: nil)
    bench.transport.answer(
      "/v1/\(path)", with: .json(Note(1, "old").json, fields: cached), .json(Note(1, "new").json))
    bench.transport.answer("/v1/ab", with: .json(Note(1, "old").json, fields: cached), .json(Note(1, "new").json))
    let resource = Resource(path)
    try await fetch(bench, resource, "ab")
    await bench.layer.invalidate(.under("a"))
    #expect(try await bench.notes.fetch(resource).text == "new")
    #expect(try await bench.notes.fetch("ab").text == "old")
  }

  @Test func `all of them, and one of them`() async throws {
    let bench = Bench()
    for path in ["/v1/a", "/v1/b"] {
      bench.transport.answer(path, with: .json(Note(1, "old").json, fields: cached), .json(Note(1, "new").json))
    }
    try await fetch(bench, "a", "b")
    await bench.layer.invalidate(.resource("a"))
    #expect(try await bench.notes.fetch("a").text == "new")
    #expect(try await bench.notes.fetch("b").text == "old")
    await bench.layer.invalidate(.all)
    #expect(try await bench.restarted().notes.fetch("b").text == "new")
  }

  @Test func `a group that only the disk knows is stale after a restart`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/a", with: .json(Note(1, "old").json, fields: cached), .json(Note(1, "new").json))
    bench.transport.answer(
      "/v1/b", with: .json(Note(2, "old").json, fields: try fields("Cache-Groups", "\"feed\";x, \"so \\\"said\\\"\"")),
      .json(Note(2, "new").json))
    bench.transport.answer("/v1/c", with: .json(Note(3, "old").json, fields: cached), .json(Note(3, "new").json))
    var a = Resource("a")
    a.groups = ["feed"]
    try await fetch(bench, a, "b", "c")
    let restarted = bench.restarted()
    await restarted.layer.invalidate(.group("feed"))
    // Without the group: the record has it.
    #expect(try await restarted.notes.fetch("a").text == "new")
    #expect(try await restarted.notes.fetch("b").text == "new")
    #expect(try await restarted.notes.fetch("c").text == "old")
  }

  @Test func `a response confirmed by a 304, and a local value, keep the program's groups`() async throws {
    let bench = Bench()
    var fresh = cached
    fresh[.eTag] = "\"1\""
    bench.transport.answer(
      "/v1/a", with: .json(Note(1, "old").json, fields: fresh), .response(.notModified, fields: fresh),
      .json(Note(1, "new").json))
    var (a, b) = (Resource("a"), Resource("b"))
    a.groups = ["feed"]
    b.groups = ["feed"]
    b.freshFor = .seconds(600)
    try await fetch(bench, "a")
    _ = try await bench.notes.fetch(a, policy: .networkOnly)
    try await bench.notes.save(Note(2, "local"), for: b)
    bench.transport.answer("/v1/b", with: .json(Note(2, "new").json))
    let restarted = bench.restarted()
    await restarted.layer.invalidate(.group("feed"))
    #expect(try await restarted.notes.fetch("a").text == "new")
    #expect(try await restarted.notes.fetch(b).text == "new")
  }

  @Test func `a request under way begins again, known by the program's group before its first response`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer(
      "/v1/a", with: .json(Note(1, "old").json, fields: cached).held(at: gate), .json(Note(1, "new").json))
    var a = Resource("a")
    a.groups = ["feed"]
    let task = Task { [a] in try await bench.notes.fetch(a) }
    try await gate.waitForArrival()
    await bench.layer.invalidate(.group("feed"))
    #expect(try await task.value.text == "new")
    gate.open()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a response under way that names the group arrives stale, in memory and on disk`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer(
      "/v1/a",
      with: .json(Note(1, "old").json, fields: try fields("Cache-Groups", "\"feed\"")).held(at: gate),
      .json(Note(1, "new").json))
    let task = Task { try await bench.notes.fetch("a") }
    try await gate.waitForArrival()
    await bench.layer.invalidate(.group("feed"))
    gate.open()
    #expect(try await task.value.text == "old")
    #expect(try await bench.restarted().notes.fetch("a").text == "new")
    #expect(try await bench.notes.fetch("a").text == "new")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `the response to a change makes groups stale, unless the change failed`() async throws {
    let bench = Bench(except: [.ownSteps])
    bench.transport.answer(
      "/v1/a", with: .json(Note(1, "old").json, fields: try fields("Cache-Groups", "\"feed\"")),
      .json(Note(1, "new").json))
    try await fetch(bench, "a")
    let said = try fields("Cache-Group-Invalidation", "\"feed\"")
    bench.transport.answer("/v1/posts", with: .response(.badRequest, fields: said), .response(.noContent, fields: said))
    await #expect(throws: ReactorError.self) { try await bench.layer.send(Resource("posts", method: .post)) }
    #expect(try await bench.notes.fetch("a").text == "old")
    try await bench.layer.send(Resource("posts", method: .post))
    #expect(try await bench.notes.fetch("a").text == "new")
  }
}
