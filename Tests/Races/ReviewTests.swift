import Foundation
import HTTPTypes
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorCore

/// A flight's answer against the variant that each of its parties asked for (RFC 9111 §4.1).
@Suite("Races of variants", .timeLimit(.minutes(1)))
struct VariantRaceTests {
  private static let english = Resource("note", headers: [.acceptLanguage: "en"])
  private static let german = Resource("note", headers: [.acceptLanguage: "de"])

  private func answer(_ request: HTTPRequest) -> ScriptedTransport.Answer {
    .json(
      Note(1, request.headerFields[.acceptLanguage] ?? "none").json,
      fields: [.vary: "Accept-Language", .lastModified: "Thu, 01 Jan 2026 00:00:00 GMT"])
  }

  @Test func `who joins a flight with a header that selects another variant gets that one`() async throws {
    let gate = Gate()
    let bench = Bench(transport: ScriptedTransport { request, _ in answer(request).held(at: gate) })
    let notes = bench.notes
    let first = Task { try await notes.fetch(Self.english).text }
    try await gate.waitForArrival()
    let second = Task { try await notes.fetch(Self.german).text }
    try await bench.log.wait(for: .joined)
    gate.open()
    #expect(try await first.value == "en")
    #expect(try await second.value == "de")
    #expect(bench.transport.requestCount == 2)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `a stream keeps its own variant when another one is fetched`() async throws {
    let bench = Bench(transport: ScriptedTransport { request, _ in answer(request) })
    var states = bench.notes.states(for: Self.english).makeAsyncIterator()
    #expect(await states.first { $0.value != nil && $0.fetchStatus == .idle }?.value?.text == "en")
    #expect(try await bench.notes.fetch(Self.german).text == "de")
    #expect(await states.next()?.value?.text == "en")
    #expect(bench.notes.cached(Self.english) == nil)
    try await bench.notes.remove(Self.english)
    #expect(await states.next()?.value == nil)
  }

  @Test func `the validators of one variant are not sent for another`() async throws {
    let transport = ScriptedTransport { request, _ in
      request.headerFields[.ifModifiedSince] == nil ? answer(request) : .response(.notModified)
    }
    let bench = Bench(transport: transport)
    #expect(try await bench.notes.fetch(Self.english).text == "en")
    #expect(try await bench.notes.fetch(Self.german).text == "de")
  }
}

/// Connectivity that comes back while a stream is about to wait for it.
@Suite("Races of connectivity", .timeLimit(.minutes(1)))
struct ConnectivityRaceTests {
  /// Unreachable when it is read first, and reachable from then on.
  private final class Flicker: Reachability {
    private let isAsked = Atomic<Bool>(false)
    var isReachable: Bool { isAsked.exchange(true, ordering: .relaxed) }
    var changes: AsyncStream<Bool> { FixedReachability.always.changes }
  }

  @Test func `what comes back between the look and the pause is seen`() async throws {
    let transport = ScriptedTransport { _, _ in .json(Note(1, "one").json) }
    let layer = ModelLayer(baseURL: Bench.url, transport: transport, reachability: Flicker())
    var states = layer.reactor(Note.self).states(for: "note").makeAsyncIterator()
    #expect(await states.first { $0.value != nil }?.value?.text == "one")
  }

  /// Whose changes are first told when it is back.
  private final class Late: Reachability {
    private let isOnline = Atomic<Bool>(false)
    private let told = AsyncStream.makeStream(of: Bool.self)
    var isReachable: Bool { isOnline.load(ordering: .relaxed) }
    var changes: AsyncStream<Bool> { told.stream }
    func comeBack() {
      isOnline.store(true, ordering: .relaxed)
      told.continuation.yield(true)
    }
  }

  @Test func `what comes back between the pause and the subscription is seen`() async throws {
    let reachability = Late()
    let transport = ScriptedTransport { _, _ in .json(Note(1, "one").json) }
    let layer = ModelLayer(baseURL: Bench.url, transport: transport, reachability: reachability)
    var states = layer.reactor(Note.self).states(for: "note").makeAsyncIterator()
    #expect(await states.first { $0.fetchStatus == .paused } != nil)
    reachability.comeBack()
    #expect(await states.first { $0.value != nil }?.value?.text == "one")
  }
}

/// Users' objects end, and users' closures run, where no lock is held.
@Suite("Ends of users' objects", .timeLimit(.minutes(1)))
struct ObjectEndTests {
  /// A model that asks its reactor when it ends.
  private final class Mourned: Sendable {
    let text: String
    private let onEnd: @Sendable (String) -> Void

    init(_ text: String, onEnd: @escaping @Sendable (String) -> Void) {
      self.text = text
      self.onEnd = onEnd
    }

    deinit { onEnd(text) }
  }

  private struct Setting: Sendable {
    let reactor: Reactor<Mourned>
    let ended: Shared<[String]>
    let make: @Sendable (String) -> Mourned

    init(configure: (inout ReactorConfiguration) -> Void = { _ in }) {
      let ended = Shared<[String]>([])
      let asked = Shared<Reactor<Mourned>?>(nil)
      let make: @Sendable (String) -> Mourned = { text in
        Mourned(text) { text in
          _ = asked.value?.cached("another")
          ended.change { $0.append(text) }
        }
      }
      var configuration = ReactorConfiguration()
      configuration.keepUnusedFor = .never
      configure(&configuration)
      reactor = Reactor(flow: ReactorFlow(configuration: configuration) { make($0.path) })
      self.ended = ended
      self.make = make
      let made = reactor
      asked.change { $0 = made }
    }
  }

  @Test func `a model that is replaced may ask its reactor when it ends`() async throws {
    let setting = Setting()
    try await setting.reactor.save(setting.make("old"), for: "note")
    try await setting.reactor.save(setting.make("new"), for: "note")
    #expect(setting.ended.value == ["old"])
  }

  @Test func `a model that is evicted may ask its reactor when it ends`() async throws {
    let setting = Setting { $0.memoryLimit.models = 1 }
    try await setting.reactor.save(setting.make("a"), for: "a")
    try await setting.reactor.save(setting.make("b"), for: "b")
    #expect(setting.ended.value == ["a"])
  }

  @Test func `an open stream does not hold the model that it began with`() async throws {
    let setting = Setting()
    try await setting.reactor.save(setting.make("old"), for: "note")
    var states: LoadStates<Mourned>.Iterator? = setting.reactor.states(for: "note").makeAsyncIterator()
    try await setting.reactor.save(setting.make("new"), for: "note")
    #expect(setting.ended.value == ["old"])
    #expect(await states?.next()?.value?.text == "new")
    states = nil
  }

  @Test func `an observer that ends may observe again`() {
    let layer = ModelLayer(baseURL: Bench.url)
    let ended = Shared(false)
    observe(layer) { _ in
      layer.observeEvents { _ in }.cancel()
      ended.change { $0 = true }
    }.cancel()
    #expect(ended.value)
  }

  private func observe(_ layer: ModelLayer, onEnd: @escaping @Sendable (String) -> Void) -> EventToken {
    let mourned = Mourned("observer", onEnd: onEnd)
    return layer.observeEvents { _ in _ = mourned }
  }

  /// Keeps what it was given to report progress with.
  private final class Keeper: Transport {
    let kept = Shared<[@Sendable (TransferProgress) -> Void]>([])
    func send(
      _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> (HTTPResponse, Data) {
      kept.change { $0.append(progress) }
      return (HTTPResponse(status: .ok), Data(Note(1, "one").json.utf8))
    }
  }

  @Test func `a transport that keeps its progress closure holds no generation`() async throws {
    let keeper = Keeper()
    let notes = ModelLayer(baseURL: Bench.url, transport: keeper, reachability: .always).reactor(Note.self)
    _ = try await notes.fetch("note")
    // The task that ran the flight ends after its callers have their answer.
    for _ in 0..<10_000 where notes.engine.layer.generations.activeKeys > 0 { await Task.yield() }
    #expect(notes.engine.layer.generations.activeKeys == 0)
    #expect(keeper.kept.value.count == 1)
  }
}

/// A removal against what is asked for meanwhile.
@Suite("Races of removal", .timeLimit(.minutes(1)))
struct RemovalRaceTests {
  @Test func `a request that begins while a removal waits carries no validators of what is being removed`() async throws
  {
    let faulty = FaultyPersistence()
    let bench = Bench(persistence: faulty)
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "old").json, fields: [.eTag: "\"1\""]), .json(Note(1, "new").json))
    let notes = bench.notes
    _ = try await notes.fetch("note")
    let hold = faulty.hold(.remove)
    let removal = Task { try await notes.remove("note") }
    try await hold.reached()
    let caller = Task { try await notes.fetchFromNetwork("note").text }
    try await bench.transport.waitForRequests(count: 2)
    #expect(bench.transport.requests.last?.request.headerFields[.ifNoneMatch] == nil)
    hold.open()
    try await removal.value
    #expect(try await caller.value == "new")
  }
}
