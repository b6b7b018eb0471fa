import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// Steps of a flow that use the layer they belong to: they hold their own key, pass it, and pass no
/// other.
@Suite("Races of steps", .timeLimit(.minutes(5)))
struct StepRaceTests {
  private let faulty = FaultyPersistence()
  private let bench: Bench

  init() { bench = Bench(persistence: faulty, except: [.ownSteps, .concurrentRequests]) }

  /// A reactor whose save step does `use` after what it does by itself.
  private func saving(
    _ name: String? = nil, then use: @escaping @Sendable (Snapshot<Note>, Resource) async throws -> Void
  ) -> Reactor<Note> {
    var flow = bench.layer.flow(Note.self)
    let save = flow.saveToPersistence
    flow.saveToPersistence = { snapshot, resource in
      try await save(snapshot, resource)
      if name == nil || resource.path == name { try await use(snapshot, resource) }
    }
    return Reactor(flow: flow)
  }

  /// A reactor whose load step of `name` does `use` first.
  private func loading(
    _ name: String, in layer: ModelLayer? = nil, after use: @escaping @Sendable () async throws -> Void
  ) -> Reactor<Note> {
    var flow = (layer ?? bench.layer).flow(Note.self)
    let load = flow.loadFromPersistence
    flow.loadFromPersistence = { resource in
      if resource.path == name { try await use() }
      return try await load(resource)
    }
    return Reactor(flow: flow)
  }

  @Test func `a save step may send what it has saved to the same URL`() async throws {
    bench.transport.answer("/v1/draft", with: .json(Note(1, "server's").json))
    let notes = bench.notes
    let reactor = saving { snapshot, resource in
      guard snapshot.record == nil else { return }
      _ = try await notes.send(Resource(resource.path, method: .put))
    }
    try await reactor.save(Note(1, "mine"), for: "draft")
    #expect(bench.transport.requestCount == 1)
    // The key is free again, and what the server changed is stale.
    #expect(try await bench.notes.fetch("draft").text == "server's")
    try await bench.layer.removeAll()
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `a save step may fetch what it has saved from the network`() async throws {
    bench.transport.answer("/v1/draft", with: .json(Note(1, "server's").json))
    let notes = bench.notes
    let seen = Shared("")
    let reactor = saving { snapshot, resource in
      guard snapshot.record == nil else { return }
      let text = try await notes.fetchFromNetwork(resource).text
      seen.change { $0 = text }
    }
    try await reactor.save(Note(1, "mine"), for: "draft")
    #expect(seen.value == "server's")
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `a step may fetch another resource while a sign-out waits for the step`() async throws {
    bench.transport.answer("/v1/other", with: .json(Note(2, "other").json))
    let start = Gate()
    let notes = bench.notes
    let reactor = saving("a") { _, _ in
      try await start.wait()
      _ = try await notes.fetch("other")
    }
    let write = Task { try await reactor.save(Note(1, "mine"), for: "a") }
    try await start.waitForArrival()
    let signOut = Task { try await bench.layer.removeAll() }
    try await bench.log.wait(for: .removed)
    start.open()
    try await write.value
    try await signOut.value
    #expect(try await faulty.entries(in: nil, url: nil).isEmpty)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `a step may join a flight that waits behind a sign-out, which waits for the step`() async throws {
    bench.transport.answer("/v1/other", with: .json(Note(2, "other").json))
    let start = Gate()
    let notes = bench.notes
    let reactor = saving("a") { _, _ in
      try await start.wait()
      _ = try await notes.fetch("other")
    }
    let write = Task { try await reactor.save(Note(1, "mine"), for: "a") }
    try await start.waitForArrival()
    let signOut = Task { try await bench.layer.removeAll() }
    try await bench.log.wait(for: .removed)
    // Its load queues behind the sign-out. It holds nothing.
    let stranger = Task { try await notes.fetch("other").text }
    try await bench.log.wait(for: .memoryMiss)
    start.open()
    try await write.value
    try await signOut.value
    #expect(try await stranger.value == "other")
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `a fetch gets its turn at the disk, though a step that shared it has given up meanwhile`() async throws {
    let executor = SteppedExecutor()
    let bench = Bench(persistence: faulty, except: [.ownSteps]) { $0.taskExecutor = executor }
    bench.transport.answer("/v1/b", with: .json(Note(2, "server's").json))
    let notes = bench.notes
    let reactor = loading("a", in: bench.layer) { _ = try await notes.fetchFromNetwork("b") }
    let hold = faulty.hold(.save)
    let write = Task(executorPreference: executor) { try await notes.save(Note(1, "mine"), for: "b") }
    executor.run()
    // The answer that the step waits for queues behind the write, as what somebody inside awaits.
    let fetch = Task(executorPreference: executor) { try await reactor.fetch("a") }
    executor.run()
    let answer = Shared<String?>(nil)
    let stranger = Task(executorPreference: executor) {
      let text = try await notes.fetchFromNetwork("b").text
      answer.change { $0 = text }
    }
    executor.run()
    #expect(bench.transport.requestCount == 1)
    fetch.cancel()
    executor.run()
    hold.open()
    executor.run()
    try #require(answer.value == "server's", "it waits for ever")
    try await write.value
    try await stranger.value
    await #expect(throws: ReactorError.self) { try await fetch.value }
    #expect(try await bench.restarted().notes.fetch("b", policy: .cacheOnly).text == "server's")
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `a step's write to another resource does not overtake a newer write of it`() async throws {
    let notes = bench.notes
    let reactor = saving("a") { _, _ in try await notes.save(Note(1, "step's"), for: "b") }
    let first = faulty.hold(.save)
    let write = Task { try await reactor.save(Note(1, "a"), for: "a") }
    try await first.reached()
    let second = faulty.hold(.save)
    first.open()
    // The step's own write of "b" stands at the disk.
    try await second.reached()
    let newer = Task { try await notes.save(Note(2, "newer"), for: "b") }
    try await bench.log.wait(for: .savedLocally, count: 3)
    second.open()
    try await write.value
    try await newer.value
    #expect(notes.cached("b")?.text == "newer")
    #expect(try await bench.restarted().notes.fetch("b", policy: .cacheOnly).text == "newer")
  }

  @Test func `a step waits for the task that saves the resource that it writes`() async throws {
    let notes = bench.notes
    let hold = faulty.hold(.save)
    let older = Task { try await notes.save(Note(1, "older"), for: "b") }
    try await hold.reached()
    let reactor = loading("a") { try await notes.save(Note(2, "step's"), for: "b") }
    bench.transport.answer("/v1/a", with: .json(Note(1, "a").json))
    let fetch = Task { try await reactor.fetch("a").text }
    try await bench.log.wait(for: .savedLocally, count: 2)
    hold.open()
    try await older.value
    #expect(try await fetch.value == "a")
    #expect(try await bench.restarted().notes.fetch("b", policy: .cacheOnly).text == "step's")
  }

  @Test func `a sign-out in a step waits for the saves of other resources, and leaves nothing`() async throws {
    bench.transport.answer("/v1/b", with: .json(Note(2, "b").json))
    let (notes, layer) = (bench.notes, bench.layer)
    // It ends the step's own flight too, so that the step is told `cancelled`, and is carried out
    // all the same.
    let reactor = loading("a") { try await layer.removeAll() }
    let (save, removal) = (faulty.hold(.save), faulty.hold(.removeAll))
    let saving = Task { try? await notes.fetch("b") }
    try await save.reached()
    let fetch = Task { try await reactor.fetch("a") }
    try await bench.log.wait(for: .removed)
    let error = await #expect(throws: ReactorError.self) { try await fetch.value }
    #expect(error.map { "\($0)" } == "cancelled")
    #expect(faulty.calls(.removeAll) == 0)
    save.open()
    try await removal.reached()
    removal.open()
    _ = await saving.value
    // Behind the step's.
    try await notes.remove("nothing")
    #expect(try await faulty.entries(in: nil, url: nil).isEmpty)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `steps that wait for each other fail with the keys, and nothing hangs`() async throws {
    let starts = (Gate(), Gate())
    let notes = bench.notes
    let errors = Shared<[ReactorError]>([])
    let reactor = saving { _, resource in
      let isFirst = resource.path == "a"
      try await (isFirst ? starts.0 : starts.1).wait()
      do throws(ReactorError) { try await notes.remove(isFirst ? "b" : "a") } catch {
        errors.change { $0.append(error) }
      }
    }
    let first = Task { try await reactor.save(Note(1, "a"), for: "a") }
    let second = Task { try await reactor.save(Note(2, "b"), for: "b") }
    try await starts.0.waitForArrival()
    try await starts.1.waitForArrival()
    starts.0.open()
    starts.1.open()
    try await first.value
    try await second.value
    #expect(errors.value.count == 1)
    guard case .deadlock(let keys)? = errors.value.first else {
      Issue.record("\(errors.value)")
      return
    }
    #expect(Set(keys.map(\.url)) == ["https://api.example.com/v1/a", "https://api.example.com/v1/b"])
  }

  @Test func `a step that awaits its own flight fails with the key`() async throws {
    let own = Shared<Reactor<Note>?>(nil)
    var flow = bench.layer.flow(Note.self)
    flow.network = { resource, _ in
      guard let reactor = own.value else { throw CancellationError() }
      return Snapshot(model: try await reactor.fetch(resource), fetchedAt: .distantPast)
    }
    let reactor = Reactor(flow: flow)
    own.change { $0 = reactor }
    let error = await #expect(throws: ReactorError.self) { try await reactor.fetch("a") }
    #expect(error.map { "\($0)".hasPrefix("deadlock") } == true)
    own.change { $0 = nil }
  }

  @Test(arguments: [false, true])
  func `if two steps join each other's flights at once, one fails and both callers return`(_ isOfTwoReactors: Bool)
    async throws
  {
    let executor = SteppedExecutor()
    let bench = Bench(except: [.ownSteps]) { $0.taskExecutor = executor }
    let reactors = Shared<[String: Reactor<Note>]>([:])
    let errors = Shared<[ReactorError]>([])
    let starts = (Gate(), Gate())
    var flow = bench.layer.flow(Note.self)
    flow.network = { resource, _ in
      let isFirst = resource.path == "a"
      try await (isFirst ? starts.0 : starts.1).wait()
      let other = isFirst ? "b" : "a"
      do throws(ReactorError) { _ = try await reactors.value[other]?.fetch(Resource(other)) } catch {
        errors.change { $0.append(error) }
      }
      return Snapshot(model: Note(1, resource.path), fetchedAt: .distantPast)
    }
    let reactor = Reactor(flow: flow)
    reactors.change { $0 = ["a": reactor, "b": isOfTwoReactors ? Reactor(flow: flow) : reactor] }
    let answers = Shared<[String]>([])
    let callers = reactors.value.map { path, reactor in
      Task(executorPreference: executor) {
        let text = try await reactor.fetch(Resource(path)).text
        answers.change { $0.append(text) }
      }
    }
    executor.run()
    // The second step joins the first's flight while an observer is notified that the first has
    // joined the second's.
    let token = bench.layer.observeEvents { event in
      guard event.kind.name == .joined, !starts.1.isOpen else { return }
      starts.1.open()
      executor.run()
    }
    starts.0.open()
    executor.run()
    #expect(answers.value.sorted() == ["a", "b"], "they wait for each other for ever")
    #expect(errors.value.map { "\($0)".hasPrefix("deadlock") } == [true])
    for caller in callers { caller.cancel() }
    executor.run()
    token.cancel()
    reactors.change { $0 = [:] }
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test(arguments: ["save", "remove", "removeAll", "fetch"])
  func `a caller that is cancelled while it waits for a step returns at once`(_ operation: String) async throws {
    bench.transport.answer("/v1/a", with: .json(Note(1, "server's").json))
    let isInside = Gate()
    let reactor = saving("a") { _, _ in await isInside.waitIgnoringCancellation() }
    let write = Task { try await reactor.save(Note(1, "a"), for: "a") }
    try await isInside.waitForArrival()
    let (notes, layer) = (bench.notes, bench.layer)
    let waiting = Task { () async throws -> Void in
      switch operation {
      case "save": try await notes.save(Note(2, "newer"), for: "a")
      case "remove": try await notes.remove("a")
      case "removeAll": try await layer.removeAll()
      default: _ = try await notes.fetchFromNetwork("a")
      }
    }
    switch operation {
    case "save": try await bench.log.wait(for: .savedLocally, count: 2)
    case "fetch": try await bench.log.wait(for: .parsed)
    default: try await bench.log.wait(for: .removed)
    }
    waiting.cancel()
    let error = await #expect(throws: ReactorError.self) { try await waiting.value }
    #expect(error.map { "\($0)" } == "cancelled")
    isInside.open()
    try await write.value
    // Disk follows memory all the same.
    let restarted = bench.restarted().notes
    switch operation {
    case "save":
      try await bench.log.wait(for: .saved)
      #expect(try await restarted.fetch("a", policy: .cacheOnly).text == "newer")
    case "remove", "removeAll":
      try await layer.reactor(Note.self).remove("b")
      #expect(try await faulty.entries(in: nil, url: nil).isEmpty)
    default: break
    }
    #expect(bench.stillWaiting.isEmpty)
  }
}
