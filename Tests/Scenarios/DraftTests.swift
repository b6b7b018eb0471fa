import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// A server with one list of notes, whose answers to changes wait at gates.
private struct Desk: Sendable {
  let bench: Bench
  let list = Resource("list")
  let notes: Reactor<[String]>

  init(
    _ bench: Bench = Bench(except: [.ownSteps]), base: [String] = ["a"],
    _ fields: HTTPFields = [.cacheControl: "max-age=600"]
  ) async throws {
    self.bench = bench
    notes = bench.layer.reactor()
    bench.transport.answer("/v1/list", with: Self.answer(base, fields))
    _ = try await notes.fetch(list)
  }

  static func answer(_ list: [String], _ fields: HTTPFields = [.cacheControl: "max-age=600"])
    -> ScriptedTransport.Answer
  {
    .json("[\(list.map { "\"\($0)\"" }.joined(separator: ","))]", fields: fields)
  }

  /// Adds `name`, with an answer of the path `name`.
  func add(_ name: String) -> Task<Void, any Error> {
    Task { [notes, list] in
      try await notes.mutate(list, by: Resource(name, method: .post)) { value in
        if !value.contains(name) { value.append(name) }
      }
    }
  }

  /// Adds `name`, and returns once the server has the request.
  func begin(_ name: String, _ answer: ScriptedTransport.Answer, count: Int) async throws -> (
    Task<Void, any Error>, Gate
  ) {
    let gate = Gate()
    bench.transport.answer("/v1/\(name)", with: answer.held(at: gate))
    let task = add(name)
    try await bench.transport.waitForRequests(count: count)
    return (task, gate)
  }

  /// Fetches the list when its copy is stale, and returns once the flight has asked the disk.
  func read() async throws -> Task<[String], any Error> {
    bench.clock.advance(by: .seconds(601))
    let read = Task { [notes, list] in try await notes.fetch(list) }
    try await bench.log.wait(for: .persistenceHit)
    return read
  }

  var shown: [String]? { notes.cached(list) }
  var confirmed: [String]? { notes.confirmed(list) }

  /// What the disk has.
  func stored() async throws -> String? {
    let entries = try await bench.persistence?.entries(in: nil, url: nil) ?? []
    guard let key = entries.first(where: { $0.key.url.hasSuffix("/list") })?.key else { return nil }
    return try await bench.persistence?.load(key).map { String(decoding: $0.body, as: UTF8.self) }
  }
}

private let accepted = ScriptedTransport.Answer.response(.noContent)
private let refused = ScriptedTransport.Answer.response(.unprocessableContent)

@Suite("Drafts over a base", .timeLimit(.minutes(1)))
struct DraftTests {
  @Test func `a draft is shown at once to readers and streams, and the base has none of it`() async throws {
    let desk = try await Desk()
    var states = desk.notes.states(for: desk.list, policy: .cacheOnly).makeAsyncIterator()
    #expect(await states.next()?.value == ["a"])
    let (task, gate) = try await desk.begin("b", accepted, count: 2)
    #expect(desk.shown == ["a", "b"])
    #expect(desk.confirmed == ["a"])
    #expect(try await desk.notes.fetch(desk.list) == ["a", "b"])
    #expect(try await desk.notes.fetchResponse(desk.list).model == ["a", "b"])
    let state = await states.next()
    #expect(state?.value == ["a", "b"])
    #expect(state?.drafts.count == 1)
    #expect(try await desk.stored() == "[\"a\"]")
    desk.bench.transport.answer("/v1/list", with: Desk.answer(["a", "b"]))
    gate.open()
    try await task.value
    #expect(desk.shown == ["a", "b"])
    #expect(desk.confirmed == ["a", "b"])
  }

  @Test func `row 1: two writes fail, and both drafts are gone`() async throws {
    let desk = try await Desk()
    let (first, gate) = try await desk.begin("b", refused, count: 2)
    desk.bench.transport.answer("/v1/c", with: refused)
    let second = desk.add("c")
    try await desk.bench.log.wait(for: .drafted, count: 2)
    #expect(desk.shown == ["a", "b", "c"])
    gate.open()
    for task in [first, second] { await #expect(throws: ReactorError.self) { try await task.value } }
    #expect(desk.shown == ["a"])
    try await desk.bench.waitUntilNothingWaits()
  }

  @Test func `row 2: the first fails while the second is under way, whose change stays`() async throws {
    let desk = try await Desk()
    let (first, gate) = try await desk.begin("b", refused, count: 2)
    let (second, other) = (desk.add("c"), Gate())
    desk.bench.transport.answer("/v1/c", with: accepted.held(at: other))
    gate.open()
    await #expect(throws: ReactorError.self) { try await first.value }
    #expect(desk.shown == ["a", "c"])
    desk.bench.transport.answer("/v1/list", with: Desk.answer(["a", "c"]))
    other.open()
    try await second.value
    #expect(desk.shown == ["a", "c"])
  }

  @Test func `row 4: a read under way when the write begins does not replace the draft`() async throws {
    let desk = try await Desk()
    let hold = Gate()
    desk.bench.transport.answer(
      "/v1/list", with: Desk.answer(["a", "old"]).held(at: hold, ignoresCancellation: true),
      Desk.answer(["a", "b", "x"]))
    let read = Task { try await desk.notes.fetchFromNetwork(desk.list) }
    try await hold.waitForArrival()
    let (task, gate) = try await desk.begin("b", accepted, count: 3)
    hold.open()
    #expect(desk.shown == ["a", "b"])
    gate.open()
    try await task.value
    // The read began again after the write.
    #expect(try await read.value == ["a", "b", "x"])
    #expect(desk.shown == ["a", "b", "x"])
    try await desk.bench.waitUntilNothingWaits()
  }

  @Test func `row 5: a draft belongs to the key, and applies once there is a value`() async throws {
    let bench = Bench(except: [.ownSteps])
    let notes: Reactor<[String]> = bench.layer.reactor()
    let gate = Gate()
    bench.transport.answer("/v1/b", with: accepted.held(at: gate))
    let task = Task {
      try await notes.mutate("other", by: Resource("b", method: .post)) { $0.append("b") }
    }
    try await gate.waitForArrival()
    #expect(notes.cached("other") == nil)
    try await notes.save(["local"], for: "other")
    #expect(notes.cached("other") == ["local", "b"])
    gate.open()
    try await task.value
  }

  @Test func `row 7: what is accepted stays, whatever a later write does`() async throws {
    let desk = try await Desk()
    desk.bench.transport.answer("/v1/b", with: accepted)
    desk.bench.transport.answer("/v1/c", with: refused)
    try await desk.add("b").value
    #expect(desk.shown == ["a", "b"])
    #expect(desk.notes.states(for: desk.list, policy: .cacheOnly).current.drafts.isEmpty)
    await #expect(throws: ReactorError.self) { try await desk.add("c").value }
    #expect(desk.shown == ["a", "b"])
    #expect(desk.confirmed == ["a", "b"])
  }

  @Test func `row 8: each draft gets the value that the earlier ones make`() async throws {
    let desk = try await Desk(base: ["x"])
    let gate = Gate()
    desk.bench.transport.answer("/v1/tap", with: accepted.held(at: gate))
    let taps = (1...3).map { _ in
      Task { try await desk.notes.mutate(desk.list, by: Resource("tap", method: .post)) { $0.append("\($0.count)") } }
    }
    try await desk.bench.log.wait(for: .drafted, count: 3)
    #expect(desk.shown == ["x", "1", "2", "3"])
    gate.open()
    for tap in taps { try await tap.value }
  }

  @Test func `row C: what is saved while a draft is shown is the base alone`() async throws {
    let desk = try await Desk()
    let (task, gate) = try await desk.begin("b", refused, count: 2)
    try await desk.notes.save(["mine"], for: desk.list)
    #expect(desk.shown == ["mine", "b"])
    #expect(try await desk.stored() == "[\"mine\"]")
    gate.open()
    await #expect(throws: ReactorError.self) { try await task.value }
    #expect(desk.shown == ["mine"])
  }

  @Test func `row D: an acceptance in order computes nothing`() async throws {
    let desk = try await Desk()
    let runs = Runs()
    let gate = Gate()
    desk.bench.transport.answer("/v1/n", with: accepted.held(at: gate))
    let tasks = (0..<5).map { _ in
      Task { try await desk.notes.mutate(desk.list, by: Resource("n", method: .post)) { _ in runs.add() } }
    }
    try await desk.bench.log.wait(for: .drafted, count: 5)
    _ = desk.shown
    let before = runs.count
    #expect(before >= 5)
    gate.open()
    for task in tasks { try await task.value }
    _ = desk.shown
    #expect(runs.count == before)
  }
}

/// Counts how often a draft was applied.
private final class Runs: Sendable {
  private let runs = Mutex(0)

  var count: Int { runs.withLock(\.self) }
  func add() { runs.withLock { $0 += 1 } }
}

@Suite("What meets a draft", .timeLimit(.minutes(1)))
struct DraftMeetingTests {
  @Test func `an answer begun after the acceptance replaces it, and so does a 304`() async throws {
    for isConfirmed in [false, true] {
      let fields: HTTPFields = [.cacheControl: "max-age=600", .eTag: "\"1\""]
      let desk = try await Desk(Bench(except: [.ownSteps]), base: ["a"], fields)
      desk.bench.transport.answer("/v1/b", with: accepted)
      try await desk.add("b").value
      #expect(desk.shown == ["a", "b"])
      // A 304 says that nothing is other than the base.
      desk.bench.transport.answer(
        "/v1/list", with: isConfirmed ? .response(.notModified, fields: fields) : Desk.answer(["server's"]))
      let expected = isConfirmed ? ["a"] : ["server's"]
      #expect(try await desk.notes.fetch(desk.list) == expected)
      #expect(desk.shown == expected)
    }
  }

  @Test func `an acceptance makes stale the request's URL, what it names, and what was drafted`() async throws {
    let desk = try await Desk()
    let created = ScriptedTransport.Answer.response(
      .created, fields: [.location: "/v1/items/7", .contentLocation: "/v1/items/8"])
    for path in ["items", "items/7", "items/8", "other"] {
      desk.bench.transport.answer("/v1/\(path)", with: Desk.answer([path]), Desk.answer(["new"]))
      _ = try await desk.notes.fetch(Resource(path))
    }
    desk.bench.transport.answer("/v1/items", with: created)
    try await desk.notes.mutate(desk.list, by: Resource("items", method: .post)) { $0.append("b") }
    desk.bench.transport.answer("/v1/items", with: Desk.answer(["new"]))
    desk.bench.transport.answer("/v1/list", with: Desk.answer(["new"]))
    for path in ["items", "items/7", "items/8", "list"] {
      #expect(try await desk.notes.fetch(Resource(path)) == ["new"], "\(path)")
    }
    #expect(try await desk.notes.fetch("other") == ["other"])
  }

  @Test(arguments: [404, 409, 410, 412, 500, 400, 403, 422])
  func `a refusal leaves what the others make, and asks anew where the base is out of date`(_ code: Int) async throws {
    let desk = try await Desk()
    desk.bench.transport.answer("/v1/b", with: .response(HTTPResponse.Status(code: code)))
    await #expect(throws: ReactorError.self) { try await desk.add("b").value }
    #expect(desk.shown == ["a"])
    desk.bench.transport.answer("/v1/list", with: Desk.answer(["new"]))
    let isAskedAnew = [404, 409, 410, 412, 500].contains(code)
    #expect(try await desk.notes.fetch(desk.list) == (isAskedAnew ? ["new"] : ["a"]))
  }

  @Test func `invalidate makes the base stale, and the draft stays over the next one`() async throws {
    let desk = try await Desk()
    let (task, gate) = try await desk.begin("b", accepted, count: 2)
    gate.close()
    desk.bench.transport.answer("/v1/list", with: Desk.answer(["new"]))
    await desk.notes.invalidate(desk.list)
    #expect(desk.shown == ["a", "b"])
    #expect(desk.notes.states(for: desk.list).current.isStale)
    gate.open()
    try await task.value
    #expect(try await desk.notes.fetch(desk.list) == ["new"])
  }

  @Test func `remove shows nothing, drafts included, until somebody brings it back`() async throws {
    let desk = try await Desk()
    let (task, gate) = try await desk.begin("b", accepted, count: 2)
    try await desk.notes.remove(desk.list)
    #expect(desk.shown == nil)
    try await desk.notes.save(["back"], for: desk.list)
    #expect(desk.shown == ["back", "b"])
    gate.open()
    try await task.value
  }

  @Test func `removeAll ends drafts, and the answer that comes later brings nothing back`() async throws {
    let desk = try await Desk()
    let (task, gate) = try await desk.begin("b", accepted, count: 2)
    try await desk.bench.layer.removeAll()
    #expect(desk.shown == nil)
    try await desk.notes.save(["anew"], for: desk.list)
    #expect(desk.shown == ["anew"])
    gate.open()
    try await task.value
    #expect(desk.shown == ["anew"])
  }

  @Test func `a draft comes back with the value that memory had evicted`() async throws {
    let bench = Bench(except: [.ownSteps]) { $0.memoryLimit = MemoryLimit(models: 1, bytes: .max) }
    let desk = try await Desk(bench)
    let (task, gate) = try await desk.begin("b", accepted, count: 2)
    for path in ["x", "y", "z"] {
      bench.transport.answer("/v1/\(path)", with: Desk.answer([path]))
      _ = try await desk.notes.fetch(Resource(path))
    }
    #expect(desk.shown == nil)
    #expect(try await desk.notes.fetch(desk.list, policy: .cacheOnly) == ["a", "b"])
    gate.open()
    try await task.value
  }

  @Test func `freshness is the base's, and a stale base is asked for anew under the draft`() async throws {
    let desk = try await Desk()
    let (task, gate) = try await desk.begin("b", accepted, count: 2)
    #expect(!desk.notes.states(for: desk.list).current.isStale)
    desk.bench.clock.advance(by: .seconds(601))
    #expect(desk.notes.states(for: desk.list).current.isStale)
    gate.open()
    try await task.value
  }

  @Test func `two reactors of one type, and another type of the same URL`() async throws {
    let desk = try await Desk()
    let twin: Reactor<[String]> = desk.bench.layer.reactor([String].self, parser: nil)
    let text: Reactor<String> = desk.bench.layer.reactor()
    _ = try await twin.fetch(desk.list)
    #expect(try await text.fetch(desk.list) == "[\"a\"]")
    let (task, gate) = try await desk.begin("b", accepted, count: 2)
    #expect(twin.cached(desk.list) == ["a", "b"])
    #expect(text.cached(desk.list) == "[\"a\"]")
    desk.bench.transport.answer("/v1/list", with: Desk.answer(["a", "b", "c"]))
    gate.open()
    try await task.value
    #expect(twin.cached(desk.list) == ["a", "b"])
    // The other type has no draft of its own, and is stale.
    #expect(try await text.fetch(desk.list) == "[\"a\",\"b\",\"c\"]")
    #expect(try await twin.fetch(desk.list) == ["a", "b", "c"])
  }

  @Test func `an unknown outcome, and a caller that leaves, ask for what was drafted`() async throws {
    let desk = try await Desk()
    desk.bench.transport.answer("/v1/b", with: .failure(URLError(.networkConnectionLost)))
    await #expect(throws: ReactorError.self) { try await desk.add("b").value }
    #expect(desk.shown == ["a"])
    desk.bench.transport.answer("/v1/list", with: Desk.answer(["one"]))
    #expect(try await desk.notes.fetch(desk.list) == ["one"])
    let (task, gate) = try await desk.begin("c", accepted, count: 4)
    task.cancel()
    await #expect(throws: ReactorError.self) { try await task.value }
    try await desk.bench.transport.waitForCancellations()
    gate.open()
    try await desk.bench.log.wait(for: .draftEnded, count: 2)
    desk.bench.transport.answer("/v1/list", with: Desk.answer(["two"]))
    #expect(try await desk.notes.fetchFromNetwork(desk.list) == ["two"])
    try await desk.bench.waitUntilNothingWaits()
  }

  @Test func `a caller that leaves before its turn sends nothing`() async throws {
    let desk = try await Desk()
    let (first, gate) = try await desk.begin("b", accepted, count: 2)
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
    let desk = try await Desk()
    desk.bench.transport.answer("/v1/b", with: .json("{"))
    await #expect(throws: ReactorError.self) {
      try await desk.notes.mutate(desk.list, by: Resource("b", method: .post), answer: Note.self) { $0.append("b") }
    }
    #expect(desk.shown == ["a", "b"])
    desk.bench.transport.answer("/v1/c", with: .response(.seeOther, fields: [.location: "/v1/d"]))
    await #expect(throws: ReactorError.self) { try await desk.add("c").value }
    #expect(desk.shown == ["a", "b", "c"])
  }

  @Test func `the answer's model is returned`() async throws {
    let desk = try await Desk()
    desk.bench.transport.answer("/v1/b", with: .json(Note(7, "b").json))
    let note = try await desk.notes.mutate(desk.list, by: Resource("b", method: .post), answer: Note.self) {
      $0.append("b")
    }
    #expect(note == Note(7, "b"))
  }

  @Test func `without connectivity it fails at once and shows nothing, and a request that only reads is refused`()
    async throws
  {
    let desk = try await Desk()
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

@Suite("Reads that overlap a write", .timeLimit(.minutes(1)))
struct DraftOverlapTests {
  @Test func `a request waits for the write being sent, and has its change`() async throws {
    let desk = try await Desk()
    let (task, gate) = try await desk.begin("b", accepted, count: 2)
    desk.bench.transport.answer("/v1/list", with: Desk.answer(["a", "b", "x"]))
    let read = try await desk.read()
    #expect(desk.bench.transport.requestCount == 2)
    gate.open()
    try await task.value
    #expect(try await read.value == ["a", "b", "x"])
    #expect(desk.bench.transport.requestCount == 3)
  }

  @Test func `a caller waits for one write of many, and the next write waits for it`() async throws {
    let desk = try await Desk()
    let (first, gate) = try await desk.begin("b", accepted, count: 2)
    let (second, other) = (desk.add("c"), Gate())
    desk.bench.transport.answer("/v1/c", with: accepted.held(at: other))
    try await desk.bench.log.wait(for: .drafted, count: 2)
    let hold = Gate()
    desk.bench.transport.answer("/v1/list", with: Desk.answer(["a", "b"]).held(at: hold))
    let read = try await desk.read()
    gate.open()
    try await first.value
    try await hold.waitForArrival()
    #expect(desk.bench.transport.requests.map(\.path) == ["/v1/list", "/v1/b", "/v1/list"])
    hold.open()
    #expect(try await read.value == ["a", "b", "c"])
    try await other.waitForArrival()
    other.open()
    try await second.value
    #expect(desk.bench.transport.requests.map(\.path) == ["/v1/list", "/v1/b", "/v1/list", "/v1/c"])
  }

  @Test func `a stream asks once after a burst of writes`() async throws {
    let desk = try await Desk()
    var states = desk.notes.states(for: desk.list).makeAsyncIterator()
    #expect(await states.next()?.value == ["a"])
    let (first, gate) = try await desk.begin("b", accepted, count: 2)
    let later = ["c", "d", "e"].map { name in
      desk.bench.transport.answer("/v1/\(name)", with: accepted)
      return desk.add(name)
    }
    try await desk.bench.log.wait(for: .drafted, count: 4)
    desk.bench.transport.answer("/v1/list", with: Desk.answer(["all"]))
    gate.open()
    for task in [first] + later { try await task.value }
    while let state = await states.next(), state.value != ["all"] {}
    #expect(desk.bench.transport.requests.filter { $0.path == "/v1/list" }.count == 2)
  }

  @Test func `while nothing is sent nothing waits, and another resource never does`() async throws {
    let desk = try await Desk()
    let (task, gate) = try await desk.begin("b", accepted, count: 2)
    desk.bench.transport.answer("/v1/other", with: Desk.answer(["other"]))
    #expect(try await desk.notes.fetch("other") == ["other"])
    gate.open()
    try await task.value
    desk.bench.transport.answer("/v1/list", with: Desk.answer(["a", "b"]))
    #expect(try await desk.notes.fetchFromNetwork(desk.list) == ["a", "b"])
  }
}
