import ReactorCore
import ReactorTesting
import ReactorWrites
import Synchronization
import TestSupport
import Testing

@Suite("Drafts over a base", .timeLimit(.minutes(5)))
struct DraftTests {
  @Test func `a draft is shown at once to readers and streams, and the base has none of it`() async throws {
    let desk = try await NotesDesk()
    var states = desk.notes.states(for: desk.list, policy: .cacheOnly).makeAsyncIterator()
    #expect(await states.next()?.value == ["a"])
    let (task, gate) = try await desk.begin("b", .accepted, count: 2)
    #expect(desk.shown == ["a", "b"])
    #expect(desk.confirmed == ["a"])
    #expect(try await desk.notes.fetch(desk.list) == ["a", "b"])
    #expect(try await desk.notes.fetchResponse(desk.list).model == ["a", "b"])
    let state = await states.next()
    #expect(state?.value == ["a", "b"])
    #expect(state?.drafts.count == 1)
    #expect(try await desk.stored() == "[\"a\"]")
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["a", "b"]))
    gate.open()
    try await task.value
    #expect(desk.shown == ["a", "b"])
    #expect(desk.confirmed == ["a", "b"])
  }

  @Test func `row 1: two writes fail, and both drafts are gone`() async throws {
    let desk = try await NotesDesk()
    let (first, gate) = try await desk.begin("b", .refused, count: 2)
    desk.bench.transport.answer("/v1/c", with: .refused)
    let second = desk.add("c")
    try await desk.bench.log.wait(for: .drafted, count: 2)
    #expect(desk.shown == ["a", "b", "c"])
    gate.open()
    for task in [first, second] { await #expect(throws: ReactorError.self) { try await task.value } }
    #expect(desk.shown == ["a"])
    try await desk.bench.waitUntilNothingWaits()
  }

  @Test func `row 2: the first fails while the second is under way, whose change stays`() async throws {
    let desk = try await NotesDesk()
    let (first, gate) = try await desk.begin("b", .refused, count: 2)
    let (second, other) = (desk.add("c"), Gate())
    desk.bench.transport.answer("/v1/c", with: .accepted.held(at: other))
    gate.open()
    await #expect(throws: ReactorError.self) { try await first.value }
    #expect(desk.shown == ["a", "c"])
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["a", "c"]))
    other.open()
    try await second.value
    #expect(desk.shown == ["a", "c"])
  }

  @Test func `row 4: a read under way when the write begins does not replace the draft`() async throws {
    let desk = try await NotesDesk()
    let hold = Gate()
    desk.bench.transport.answer(
      "/v1/list", with: NotesDesk.answer(["a", "old"]).held(at: hold, ignoresCancellation: true),
      NotesDesk.answer(["a", "b", "x"]))
    let read = Task { try await desk.notes.fetchFromNetwork(desk.list) }
    try await hold.waitForArrival()
    let (task, gate) = try await desk.begin("b", .accepted, count: 3)
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
    bench.transport.answer("/v1/b", with: .accepted.held(at: gate))
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
    let desk = try await NotesDesk()
    desk.bench.transport.answer("/v1/b", with: .accepted)
    desk.bench.transport.answer("/v1/c", with: .refused)
    try await desk.add("b").value
    #expect(desk.shown == ["a", "b"])
    #expect(desk.notes.states(for: desk.list, policy: .cacheOnly).current.drafts.isEmpty)
    await #expect(throws: ReactorError.self) { try await desk.add("c").value }
    #expect(desk.shown == ["a", "b"])
    #expect(desk.confirmed == ["a", "b"])
  }

  @Test func `row 8: each draft gets the value that the earlier ones make`() async throws {
    let desk = try await NotesDesk(base: ["x"])
    let gate = Gate()
    desk.bench.transport.answer("/v1/tap", with: .accepted.held(at: gate))
    let taps = (1...3).map { _ in
      Task { try await desk.notes.mutate(desk.list, by: Resource("tap", method: .post)) { $0.append("\($0.count)") } }
    }
    try await desk.bench.log.wait(for: .drafted, count: 3)
    #expect(desk.shown == ["x", "1", "2", "3"])
    gate.open()
    for tap in taps { try await tap.value }
  }

  @Test func `row C: a save while a draft is shown stores only the base`() async throws {
    let desk = try await NotesDesk()
    let (task, gate) = try await desk.begin("b", .refused, count: 2)
    try await desk.notes.save(["mine"], for: desk.list)
    #expect(desk.shown == ["mine", "b"])
    #expect(try await desk.stored() == "[\"mine\"]")
    gate.open()
    await #expect(throws: ReactorError.self) { try await task.value }
    #expect(desk.shown == ["mine"])
  }

  @Test func `row D: an acceptance in order computes nothing`() async throws {
    let desk = try await NotesDesk()
    let runs = Runs()
    let gate = Gate()
    desk.bench.transport.answer("/v1/n", with: .accepted.held(at: gate))
    var tasks: [Task<Void, any Error>] = []
    for count in 1...5 {
      // One after the other, so that they are sent in the order of their drafts.
      tasks.append(
        Task { try await desk.notes.mutate(desk.list, by: Resource("n", method: .post)) { _ in runs.add() } })
      try await desk.bench.log.wait(for: .drafted, count: count)
    }
    _ = desk.shown
    let before = runs.count
    #expect(before >= 5)
    gate.open()
    for task in tasks { try await task.value }
    _ = desk.shown
    #expect(runs.count == before)
  }
}

@Suite("Reads that overlap a write", .timeLimit(.minutes(5)))
struct DraftOverlapTests {
  @Test func `a request waits for the write being sent, and has its change`() async throws {
    let desk = try await NotesDesk()
    let (task, gate) = try await desk.begin("b", .accepted, count: 2)
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["a", "b", "x"]))
    let read = try await desk.read()
    #expect(desk.bench.transport.requestCount == 2)
    gate.open()
    try await task.value
    #expect(try await read.value == ["a", "b", "x"])
    #expect(desk.bench.transport.requestCount == 3)
  }

  @Test func `a caller waits for one write of many, and the next write waits for it`() async throws {
    let desk = try await NotesDesk()
    let (first, gate) = try await desk.begin("b", .accepted, count: 2)
    let (second, other) = (desk.add("c"), Gate())
    desk.bench.transport.answer("/v1/c", with: .accepted.held(at: other))
    try await desk.bench.log.wait(for: .drafted, count: 2)
    let hold = Gate()
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["a", "b"]).held(at: hold))
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
    let desk = try await NotesDesk()
    var states = desk.notes.states(for: desk.list).makeAsyncIterator()
    #expect(await states.next()?.value == ["a"])
    let (first, gate) = try await desk.begin("b", .accepted, count: 2)
    let later = ["c", "d", "e"].map { name in
      desk.bench.transport.answer("/v1/\(name)", with: .accepted)
      return desk.add(name)
    }
    try await desk.bench.log.wait(for: .drafted, count: 4)
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["all"]))
    gate.open()
    for task in [first] + later { try await task.value }
    while let state = await states.next(), state.value != ["all"] {}
    #expect(desk.bench.transport.requests.filter { $0.path == "/v1/list" }.count == 2)
  }

  @Test func `while nothing is sent nothing waits, and another resource never does`() async throws {
    let desk = try await NotesDesk()
    let (task, gate) = try await desk.begin("b", .accepted, count: 2)
    desk.bench.transport.answer("/v1/other", with: NotesDesk.answer(["other"]))
    #expect(try await desk.notes.fetch("other") == ["other"])
    gate.open()
    try await task.value
    desk.bench.transport.answer("/v1/list", with: NotesDesk.answer(["a", "b"]))
    #expect(try await desk.notes.fetchFromNetwork(desk.list) == ["a", "b"])
  }
}

/// Counts how often a draft was applied.
private final class Runs: Sendable {
  private let runs = Mutex(0)

  var count: Int { runs.withLock(\.self) }
  func add() { runs.withLock { $0 += 1 } }
}
