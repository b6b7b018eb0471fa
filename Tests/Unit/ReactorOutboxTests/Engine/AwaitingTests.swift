import Foundation
import ReactorCore
import ReactorOutbox
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

/// Steps and requests of the program that await writes.
@Suite("Program code that awaits writes", .timeLimit(.minutes(2)))
struct AwaitingTests {
  @Test func `a step that awaits a write for its own key gets the answer`() async throws {
    let writer = Writer()
    let layer = writer.layer
    writer.transport.answer("/v1/b", with: .json(#""of the server""#))
    var flow = layer.flow([String].self)
    let answers = Shared<[String]>([])
    flow.saveToPersistence = { _, _ in
      let answer = try await layer.submit(Add(name: "b")).answer()
      answers.change { $0.append(answer) }
    }
    try await Reactor(flow: flow).save(["a"], for: writer.list)
    #expect(answers.value == [#""of the server""#])
    try await layer.removeAll()
  }

  @Test func `a step that awaits a write in memory for its own key gets the answer`() async throws {
    let writer = Writer()
    let (layer, notes, list) = (writer.layer, writer.notes, writer.list)
    writer.transport.answer("/v1/b", with: accepted)
    var flow = layer.flow([String].self)
    flow.saveToPersistence = { _, _ in
      try await notes.mutate(list, by: Resource("b", method: .post)) { $0.append("b") }
    }
    try await Reactor(flow: flow).save(["a"], for: writer.list)
    #expect(writer.sent == ["POST /v1/b "])
    try await layer.removeAll()
  }

  @Test func `a request that awaits a later write of its lane gets an error that names the lane`() async throws {
    let writer = Writer { $0.mutations.append(AwaitingWrite.self) }
    let layer = writer.layer
    let write = AwaitingWrite { try await layer.submit(Push(path: "inner", lane: "main")).answer() }
    writer.transport.answer("/v1/inner", with: accepted)
    writer.transport.answer("/v1/nested", with: accepted)
    let error = await TestSupport.error { try await layer.submit(write).answer() }
    guard case .network(MutationError.awaitsItsLane("main")) = error else {
      return #expect(Bool(false), "\(String(describing: error))")
    }
    await writer.wait(for: "refused")
    #expect(writer.sent == ["POST /v1/inner "])
    // In another lane it is sent at once.
    let other = AwaitingWrite { try await layer.submit(Push(path: "inner", lane: "other")).answer() }
    writer.transport.answer("/v1/inner", with: accepted)
    _ = try await layer.submit(other).answer()
    try await writer.end()
  }
}

/// Requests that hold all turns.
@Suite("Requests that await writes of other lanes", .timeLimit(.minutes(2)))
struct AwaitingTurnTests {
  @Test func `a mutation that awaits a lane without a turn gets an error that names the lane`() async throws {
    let writer = Writer {
      $0.mutations.append(AwaitingWrite.self)
      $0.concurrentLanes = 1
    }
    let layer = writer.layer
    let write = AwaitingWrite { try await layer.submit(Push(path: "inner", lane: "other")).answer() }
    writer.transport.answer("/v1/inner", with: accepted)
    let error = await TestSupport.error { try await layer.submit(write).answer() }
    guard case .network(MutationError.awaitsTurn("other")) = error else {
      return #expect(Bool(false), "\(String(describing: error))")
    }
    await writer.wait(for: "refused")
    #expect(writer.sent == ["POST /v1/inner "])
    try await writer.end()
  }
}

/// Steps of fetches that await writes of what they fetch.
@Suite("Fetches that await writes", .timeLimit(.minutes(2)))
struct FetchesAwaitingWritesTests {
  /// The paths of the keys that an error names.
  private static func circle(_ error: ReactorError?) -> [String] {
    guard case .deadlock(let keys) = error else { return [error.map { "\($0)" } ?? "nil"] }
    return keys.map { URL(string: $0.url)?.path() ?? $0.url }
  }

  /// The circles of a step that awaits `write` when it saves what was fetched, at the first time.
  private func errors(
    of writer: Writer, _ ended: Gate? = nil, _ use: (Reactor<[String]>) async throws -> Void,
    write: @escaping @Sendable () async throws -> Void
  ) async throws -> [[String]] {
    let errors = Shared<[[String]]>([])
    var flow = writer.layer.flow([String].self)
    flow.saveToPersistence = { _, _ in
      guard errors.value.isEmpty else { return }
      let error = await TestSupport.error { try await write() }
      errors.change { $0.append(Self.circle(error)) }
      ended?.open()
    }
    try await use(Reactor(flow: flow))
    return errors.value
  }

  /// Fetches the list in a request that gives way to one write. The next writes wait for it.
  private func fetch(_ reactor: Reactor<[String]>, by writer: Writer) async throws {
    let met = Gate()
    writer.transport.answer("/v1/met", with: accepted.held(at: met))
    try await writer.layer.submit(Add(name: "met"))
    try await met.waitForArrival()
    async let fetched = reactor.fetch(writer.list)
    for _ in 0..<1_000 { await Task.yield() }
    met.open()
    _ = try await fetched
  }

  @Test(arguments: ["a caller", "a stream"])
  func `fetches that await writes in a circle get an error that names it, and the write is sent`(waiter: String)
    async throws
  {
    let writer = Writer()
    let (layer, list) = (writer.layer, writer.list)
    let both = Writer.answer(["a", "b"])
    writer.transport.answer("/v1/list", with: Writer.answer(["a"]), both, both)
    writer.transport.answer("/v1/b", with: accepted)
    let errors = try await errors(of: writer) { reactor in
      if waiter == "a stream" {
        for await state in reactor.states(for: list) where state.value == ["a", "b"] && state.drafts.isEmpty { break }
      } else {
        _ = try await reactor.fetch(list)
      }
    } write: {
      _ = try await layer.submit(Add(name: "b")).answer()
    }
    #expect(errors == [["/v1/list"]])
    await writer.wait()
    #expect(writer.sent == ["POST /v1/b b"])
    try await writer.end()
  }

  @Test func `fetches that await writes get the error of a write in memory too, which is then not sent`() async throws {
    let writer = Writer()
    let (notes, list) = (writer.notes, writer.list)
    writer.transport.answer("/v1/list", with: Writer.answer(["a"]))
    let errors = try await errors(of: writer) { reactor in
      _ = try await reactor.fetch(list)
    } write: {
      _ = try await notes.mutate(list, by: Resource("b", method: .post)) { $0.append("b") }
    }
    #expect(errors == [["/v1/list"]])
    #expect(writer.sent.isEmpty)
    try await writer.end()
  }

  @Test func `a fetch gets the error of a write in memory behind a write that waits for the fetch`() async throws {
    let writer = Writer()
    let (notes, list) = (writer.notes, writer.list)
    writer.transport.answer("/v1/list", with: Writer.answer(["a"]), Writer.answer(["a"]))
    writer.transport.answer("/v1/first", with: accepted)
    let first = Shared<Task<Void, any Error>?>(nil)
    let errors = try await errors(of: writer) { reactor in
      try await fetch(reactor, by: writer)
    } write: {
      // It belongs to no other work. It has its turn, and waits for the fetch.
      let task = Task.detached {
        _ = try await notes.mutate(list, by: Resource("first", method: .post)) { $0.append("first") }
      }
      first.change { $0 = task }
      for _ in 0..<1_000 { await Task.yield() }
      _ = try await notes.mutate(list, by: Resource("b", method: .post)) { $0.append("b") }
    }
    #expect(errors == [["/v1/list"]])
    try await first.value?.value
    #expect(writer.sent == ["POST /v1/met met", "POST /v1/first "])
    try await writer.end()
  }

  @Test(arguments: [false, true])
  func `fetches get the error if the lane that they await gets no turn before they end`(awaitsFirst: Bool) async throws
  {
    let writer = Writer {
      $0.mutations.append(SlowAdd.self)
      $0.concurrentLanes = 1
    }
    let layer = writer.layer
    let made = Gate()
    SlowAdd.gates.change { $0["\(awaitsFirst)"] = made }
    if !awaitsFirst { made.open() }
    writer.transport.answer("/v1/list", with: Writer.answer(["a"]), Writer.answer(["a"]))
    writer.transport.answer("/v1/slow", with: accepted)
    writer.transport.answer("/v1/other", with: accepted)
    let opener = Shared<Task<Void, Never>?>(nil)
    let errors = try await errors(of: writer) { reactor in
      try await fetch(reactor, by: writer)
    } write: {
      // It has the only turn, and waits for the fetch as soon as its request is made.
      try await layer.submit(SlowAdd(gate: "\(awaitsFirst)"))
      if awaitsFirst { try await made.waitForArrival() }
      for _ in 0..<1_000 { await Task.yield() }
      let submission = try await layer.submit(Push(path: "other"))
      opener.change {
        $0 = Task.detached {
          for _ in 0..<1_000 { await Task.yield() }
          made.open()
        }
      }
      _ = try await submission.answer()
    }
    #expect(errors == [["/v1/list"]])
    await writer.wait()
    #expect(writer.sent == ["POST /v1/met met", "POST /v1/slow ", "POST /v1/other "])
    try await writer.end()
  }

  @Test func `a fetch gets the error for a write behind a write that waits for the fetch, too`() async throws {
    let writer = Writer { $0.mutations.append(Both.self) }
    let (layer, list) = (writer.layer, writer.list)
    let first = Gate()
    writer.transport.answer("/v1/first", with: accepted.held(at: first))
    writer.transport.answer("/v1/both", with: accepted)
    writer.transport.answer("/v1/b", with: accepted)
    writer.transport.answer("/v1/list", with: Writer.answer(["a"]), Writer.answer(["a"]))
    // The fetch meets the first write. The second one changes both lists, and waits for the fetch.
    try await layer.submit(Add(name: "first"))
    try await first.waitForArrival()
    let errors = try await errors(of: writer) { reactor in
      async let fetched = reactor.fetch(list)
      try await layer.submit(Both())
      first.open()
      _ = try await fetched
    } write: {
      _ = try await layer.submit(Add(name: "b", list: "other", lane: "other")).answer()
    }
    #expect(errors.allSatisfy { $0 == ["/v1/list"] || $0 == ["nil"] }, "\(errors)")
    await writer.wait()
    #expect(Set(writer.sent) == ["POST /v1/first first", "POST /v1/both ", "POST /v1/b b"])
    try await writer.end()
  }

  @Test func `a fetch gets the error, but a write between them and the write to its key does not`() async throws {
    let writer = Writer { $0.mutations.append(AwaitingWrite.self) }
    let (layer, list) = (writer.layer, writer.list)
    let nested = AwaitingWrite { _ = try await layer.submit(Add(name: "b", lane: "other")).answer() }
    writer.transport.answer("/v1/b", with: accepted)
    writer.transport.answer("/v1/nested", with: accepted)
    writer.transport.answer("/v1/list", with: Writer.answer(["a"]), Writer.answer(["a"]))
    let errors = try await errors(of: writer) { reactor in
      _ = try await reactor.fetch(list)
    } write: {
      _ = try await layer.submit(nested).answer()
    }
    #expect(errors == [["/v1/list"]])
    await writer.wait()
    #expect(writer.sent == ["POST /v1/b b", "POST /v1/nested "])
    try await writer.end()
  }

  @Test func `fetches that await writes get the answer once their callers have theirs`() async throws {
    let writer = Writer(configuring: { $0.saving = .inBackground })
    let (layer, list) = (writer.layer, writer.list)
    writer.transport.answer("/v1/b", with: accepted)
    writer.transport.answer("/v1/list", with: Writer.answer(["a"]), Writer.answer(["a"]))
    let ended = Gate()
    let errors = try await errors(of: writer, ended) { reactor in
      _ = try await reactor.fetch(list)
      try await ended.wait()
    } write: {
      _ = try await layer.submit(Add(name: "b")).answer()
    }
    #expect(errors == [["nil"]])
    try await writer.end()
  }

  @Test func `fetches that await writes get the error from a write that another fetch awaits`() async throws {
    let writer = Writer()
    let (layer, list) = (writer.layer, writer.list)
    let other = Resource("other")
    let (first, began) = (Gate(), Gate())
    writer.transport.answer("/v1/first", with: accepted.held(at: first))
    writer.transport.answer("/v1/second", with: accepted)
    writer.transport.answer("/v1/list", with: Writer.answer(["a"]), Writer.answer(["a"]))
    writer.transport.answer("/v1/other", with: Writer.answer([]))
    // The fetch of the other resource awaits a write of the list.
    let error = Shared<ReactorError?>(nil)
    var flow = layer.flow([String].self)
    flow.saveToPersistence = { _, _ in
      let submission = try await layer.submit(Add(name: "second", lane: "other"))
      began.open()
      let thrown = await TestSupport.error { _ = try await submission.answer() }
      error.change { $0 = thrown }
    }
    let others = Reactor(flow: flow)
    var listFlow = layer.flow([String].self)
    listFlow.saveToPersistence = { _, _ in _ = try await others.fetch(other) }
    let lists = Reactor(flow: listFlow)
    // The fetch of the list meets the first write, and the second write waits for it.
    try await layer.submit(Add(name: "first"))
    try await first.waitForArrival()
    let fetch = Task { try await lists.fetch(list) }
    let otherFetch = Task { try await others.fetch(other) }
    try await began.wait()
    first.open()
    _ = try await (fetch.value, otherFetch.value)
    #expect(Self.circle(error.value).contains("/v1/list"))
    await writer.wait()
    #expect(Set(writer.sent) == ["POST /v1/first first", "POST /v1/second second"])
    try await writer.end()
  }
}

/// A write to a path, in a lane of its name.
struct Push: Mutation {
  var path: String
  var lane: Lane

  init(path: String, lane: Lane? = nil) {
    self.path = path
    self.lane = lane ?? Lane(rawValue: path)
  }

  func request(_ known: Known) -> Resource { Resource(path, method: .post) }
}

/// A write of two lists.
private struct Both: Mutation {
  func request(_ known: Known) -> Resource { Resource("both", method: .post) }

  func draft(_ drafts: inout Drafts) {
    drafts.change([String].self, at: "list") { if !$0.contains("both") { $0.append("both") } }
    drafts.change([String].self, at: "other") { if !$0.contains("both") { $0.append("both") } }
  }
}

/// A write of the list whose request takes a while to be made.
private struct SlowAdd: Mutation {
  static let gates = Shared<[String: Gate]>([:])

  /// The gate that its request waits at.
  var gate: String

  func request(_ known: Known) async throws -> Resource {
    try await Self.gates.value[gate]?.wait()
    return Resource("slow", method: .post)
  }

  func draft(_ drafts: inout Drafts) {
    drafts.change([String].self, at: "list") { if !$0.contains("slow") { $0.append("slow") } }
  }
}

/// A mutation whose request awaits another one.
private struct AwaitingWrite: Mutation {
  static let inner = Shared<[String: @Sendable () async throws -> Void]>([:])

  /// The name of what it awaits, in the test that has it.
  var test: String

  init(test: String = #function, _ inner: @escaping @Sendable () async throws -> Void) {
    self.test = test
    Self.inner.change { $0[test] = inner }
  }

  func request(_ known: Known) async throws -> Resource {
    try await Self.inner.value[test]?()
    return Resource("nested", method: .post)
  }
}
