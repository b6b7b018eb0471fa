import Foundation
import HTTPTypes
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

@testable import ReactorCore

@Suite("What meets a draft", .timeLimit(.minutes(5)))
struct DraftMeetingTests {
  @Test func `an answer begun after the acceptance replaces it, and so does a 304`() async throws {
    for isConfirmed in [false, true] {
      let fields: HTTPFields = [.cacheControl: "max-age=600", .eTag: "\"1\""]
      let desk = try await NotesDesk(Bench(except: [.ownSteps]), base: ["a"], fields)
      desk.bench.transport.answer("/v1/b", with: .accepted)
      try await desk.add("b").value
      #expect(desk.shown == ["a", "b"])
      // A 304 says that nothing is other than the base.
      desk.bench.transport.answer(
        "/v1/list", with: isConfirmed ? .response(.notModified, fields: fields) : NotesDesk.answer(["server's"]))
      let expected = isConfirmed ? ["a"] : ["server's"]
      #expect(try await desk.notes.fetch(desk.list) == expected)
      #expect(desk.shown == expected)
    }
  }

  @Test func `an acceptance makes stale the request's URL, what it names, and what was drafted`() async throws {
    let desk = try await NotesDesk()
    let created = ScriptedTransport.Answer.response(
      .created, fields: [.location: "/v1/items/7", .contentLocation: "/v1/items/8"])
    for path in ["items", "items/7", "items/8", "other"] {
      desk.bench.transport.answer("/v1/\(path)", with: NotesDesk.answer([path]), NotesDesk.answer(["new"]))
      _ = try await desk.notes.fetch(Resource(path))
    }
    desk.bench.transport.answer("/v1/items", with: created)
    try await desk.notes.mutate(desk.list, by: Resource("items", method: .post)) { $0.append("b") }
    desk.bench.transport.answer("/v1/items", with: NotesDesk.answer(["new"]))
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["new"]))
    for path in ["items", "items/7", "items/8", "list"] {
      #expect(try await desk.notes.fetch(Resource(path)) == ["new"], "\(path)")
    }
    #expect(try await desk.notes.fetch("other") == ["other"])
  }

  @Test(arguments: [404, 409, 410, 412, 500, 400, 403, 422])
  func `a refusal leaves what the others make, and asks again where the base is out of date`(_ code: Int) async throws {
    let desk = try await NotesDesk()
    desk.bench.transport.answer("/v1/b", with: .response(HTTPResponse.Status(code: code)))
    await #expect(throws: ReactorError.self) { try await desk.add("b").value }
    #expect(desk.shown == ["a"])
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["new"]))
    let isAskedAnew = [404, 409, 410, 412, 500].contains(code)
    #expect(try await desk.notes.fetch(desk.list) == (isAskedAnew ? ["new"] : ["a"]))
  }

  /// Ada signs out while her write is under way, and Grace uses the same layer.
  @Test func `nothing of a write that was under way is shown after everything was removed`() async throws {
    let desk = try await NotesDesk()
    let (task, gate) = try await desk.begin("b", .accepted, count: 2)
    let (notes, list) = (desk.notes, desk.list)
    let seen = Shared<[[String]]>([])
    let stream = Task {
      for await state in notes.states(for: list, policy: .cacheOnly) {
        if let value = state.value { seen.change { $0.append(value) } }
        if state.value == ["of grace"] { return }
      }
    }
    while seen.value.isEmpty { await Task.yield() }
    try await desk.bench.layer.removeAll()
    try await notes.save(["of grace"], for: list)
    await stream.value
    #expect(desk.shown == ["of grace"])
    #expect(seen.value == [["a", "b"], ["of grace"]])
    gate.open()
    _ = await task.result
    #expect(desk.shown == ["of grace"])
  }

  /// It is entered before the task that takes it out again.
  @Test func `a caller that is cancelled while its draft is computed leaves nothing, and sends nothing`() async throws {
    let desk = try await NotesDesk()
    let notes = desk.notes
    let list = desk.list
    let before = desk.bench.transport.requests.count
    let caller = Task {
      try await notes.mutate(list, by: Resource("b", method: .post)) { names in
        withUnsafeCurrentTask { $0?.cancel() }
        names.append("b")
      }
    }
    await #expect(throws: ReactorError.self) { try await caller.value }
    // The task that was begun for it ends by itself.
    for await state in notes.states(for: list) where state.drafts.isEmpty { break }
    #expect(desk.shown == ["a"])
    #expect(desk.bench.transport.requests.count == before)
    // A stream asks again, so nothing is due.
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["new"]))
    let stream = Task { for await state in notes.states(for: list) where state.value == ["new"] { return } }
    await notes.invalidate(list)
    await stream.value
  }

  @Test func `invalidate makes the base stale, and the draft stays over the next one`() async throws {
    let desk = try await NotesDesk()
    let (task, gate) = try await desk.begin("b", .accepted, count: 2)
    gate.close()
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["new"]))
    await desk.notes.invalidate(desk.list)
    #expect(desk.shown == ["a", "b"])
    #expect(desk.notes.states(for: desk.list).current.isStale)
    gate.open()
    try await task.value
    #expect(try await desk.notes.fetch(desk.list) == ["new"])
  }

  @Test func `after a remove, nothing is shown, drafts included, until a fetch or a save`() async throws {
    let desk = try await NotesDesk()
    let (task, gate) = try await desk.begin("b", .accepted, count: 2)
    try await desk.notes.remove(desk.list)
    #expect(desk.shown == nil)
    try await desk.notes.save(["back"], for: desk.list)
    #expect(desk.shown == ["back", "b"])
    gate.open()
    try await task.value
  }

  @Test func `removeAll ends drafts, and the answer that comes later brings nothing back`() async throws {
    let desk = try await NotesDesk()
    let (task, gate) = try await desk.begin("b", .accepted, count: 2)
    try await desk.bench.layer.removeAll()
    #expect(desk.shown == nil)
    try await desk.notes.save(["anew"], for: desk.list)
    #expect(desk.shown == ["anew"])
    gate.open()
    try await task.value
    #expect(desk.shown == ["anew"])
  }

  @Test func `a draft comes back with the value that memory had evicted`() async throws {
    let bench = Bench(except: [.ownSteps]) { $0.memoryLimit = ReactorConfiguration.MemoryLimit(models: 1, bytes: .max) }
    let desk = try await NotesDesk(bench)
    let (task, gate) = try await desk.begin("b", .accepted, count: 2)
    for path in ["x", "y", "z"] {
      bench.transport.answer("/v1/\(path)", with: NotesDesk.answer([path]))
      _ = try await desk.notes.fetch(Resource(path))
    }
    #expect(desk.shown == nil)
    #expect(try await desk.notes.fetch(desk.list, policy: .cacheOnly) == ["a", "b"])
    gate.open()
    try await task.value
  }

  @Test func `an accepted draft is not made again over a record that was saved after its flight was cancelled`()
    async throws
  {
    let disk = FaultyPersistence()
    let desk = try await NotesDesk(Bench(persistence: disk, except: [.ownSteps]))
    var states = desk.notes.states(for: desk.list, policy: .cacheOnly).makeAsyncIterator()
    _ = await states.next()
    desk.bench.transport.answer("/v1/b", with: .accepted)
    try await desk.notes.mutate(desk.list, by: Resource("b", method: .post)) { $0.append("b") }
    try await desk.notes.remove(desk.list)
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["a", "b"]))
    let gate = disk.hold(.save)
    let fetch = Task { [desk] in try await desk.notes.fetch(desk.list) }
    try await gate.reached()
    fetch.cancel()
    await #expect(throws: ReactorError.self) { try await fetch.value }
    gate.open()
    // The number of the record is no longer known.
    let generations = desk.notes.engine.layer.generations
    for _ in 0..<10_000 where generations.activeKeys > 0 { await Task.yield() }
    #expect(generations.activeKeys == 0)
    #expect(try await desk.notes.fetch(desk.list, policy: .cacheOnly) == ["a", "b"])
    _ = await states.next()
  }

  @Test func `freshness is the base's, and a stale base is requested again under the draft`() async throws {
    let desk = try await NotesDesk()
    let (task, gate) = try await desk.begin("b", .accepted, count: 2)
    #expect(!desk.notes.states(for: desk.list).current.isStale)
    desk.bench.clock.advance(by: .seconds(601))
    #expect(desk.notes.states(for: desk.list).current.isStale)
    gate.open()
    try await task.value
  }

  @Test func `two reactors of one type, and another type of the same URL`() async throws {
    let desk = try await NotesDesk()
    let twin: Reactor<[String]> = desk.bench.layer.reactor([String].self, parser: nil)
    let text: Reactor<String> = desk.bench.layer.reactor()
    _ = try await twin.fetch(desk.list)
    #expect(try await text.fetch(desk.list) == "[\"a\"]")
    let (task, gate) = try await desk.begin("b", .accepted, count: 2)
    #expect(twin.cached(desk.list) == ["a", "b"])
    #expect(text.cached(desk.list) == "[\"a\"]")
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["a", "b", "c"]))
    gate.open()
    try await task.value
    #expect(twin.cached(desk.list) == ["a", "b"])
    // The other type has no draft, and is stale.
    #expect(try await text.fetch(desk.list) == "[\"a\",\"b\",\"c\"]")
    #expect(try await twin.fetch(desk.list) == ["a", "b", "c"])
  }

  @Test func `an unknown outcome, and a caller that leaves, request what was drafted`() async throws {
    let desk = try await NotesDesk()
    desk.bench.transport.answer("/v1/b", with: .failure(URLError(.networkConnectionLost)))
    await #expect(throws: ReactorError.self) { try await desk.add("b").value }
    #expect(desk.shown == ["a"])
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["one"]))
    #expect(try await desk.notes.fetch(desk.list) == ["one"])
    let (task, gate) = try await desk.begin("c", .accepted, count: 4)
    task.cancel()
    await #expect(throws: ReactorError.self) { try await task.value }
    try await desk.bench.transport.waitForCancellations()
    gate.open()
    try await desk.bench.log.wait(for: .draftEnded, count: 2)
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["two"]))
    #expect(try await desk.notes.fetchFromNetwork(desk.list) == ["two"])
    try await desk.bench.waitUntilNothingWaits()
  }

  @Test func `a caller that leaves takes its draft back, unless it is accepted already`() async throws {
    let desk = try await NotesDesk()
    let layer = desk.bench.layer.layer
    let key = try layer.key(desk.list)
    let drafts = ["b", "c"].map { text in
      Draft(id: UUID(), key: key, of: [String].self) { ($0 ?? []) + [text] }
    }
    layer.show(drafts)
    // Its caller has found it pending just before.
    layer.accept([drafts[0]])
    for draft in drafts { layer.withdrawPending(draft) }
    #expect(desk.shown == ["a", "b"])
  }

  @Test func `a caller that leaves before its turn sends nothing`() async throws {
    let desk = try await NotesDesk()
    let (first, gate) = try await desk.begin("b", .accepted, count: 2)
    let second = desk.add("c")
    try await desk.bench.log.wait(for: .drafted, count: 2)
    second.cancel()
    await #expect(throws: ReactorError.self) { try await second.value }
    try await desk.bench.log.wait(for: .draftEnded)
    #expect(desk.shown == ["a", "b"])
    gate.open()
    try await first.value
    #expect(desk.bench.transport.requests.map(\.path) == ["/v1/list", "/v1/b"])
  }

  @Test func `an answer that cannot be read, and a redirect, are acceptances`() async throws {
    let desk = try await NotesDesk()
    desk.bench.transport.answer("/v1/b", with: .json("{"))
    await #expect(throws: ReactorError.self) {
      try await desk.notes.mutate(desk.list, by: Resource("b", method: .post), answer: Note.self) { $0.append("b") }
    }
    #expect(desk.shown == ["a", "b"])
    desk.bench.transport.answer("/v1/c", with: .response(.seeOther, fields: [.location: "/v1/d"]))
    try await desk.add("c").value
    #expect(desk.shown == ["a", "b", "c"])
  }

  @Test func `the answer's model is returned`() async throws {
    let desk = try await NotesDesk()
    desk.bench.transport.answer("/v1/b", with: .json(Note(7, "b").json))
    let note = try await desk.notes.mutate(desk.list, by: Resource("b", method: .post), answer: Note.self) {
      $0.append("b")
    }
    #expect(note == Note(7, "b"))
  }

  @Test func `without connectivity it fails at once and shows nothing, and a request that only reads is refused`()
    async throws
  {
    let desk = try await NotesDesk()
    desk.bench.reachability.set(false)
    let error = await TestSupport.error { try await desk.add("b").value }
    #expect(error?.isNoConnectivity == true)
    #expect(desk.shown == ["a"])
    desk.bench.reachability.set(true)
    let refused = await TestSupport.error { try await desk.notes.mutate(desk.list, by: "b") { $0.append("b") } }
    #expect(refused?.isInvalidResource == true)
    #expect(desk.bench.transport.requestCount == 1)
  }

  @Test func `a flow without a backend says so`() async throws {
    let reactor = Reactor<[String]>(flow: ReactorFlow { _ in ["a"] })
    let refused = await error { try await reactor.mutate("a", by: Resource("b", method: .post)) { $0.append("b") } }
    #expect(refused?.isInvalidResource == true)
  }
}
