import Foundation
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorOutbox

/// A key waits for no write that is over, whatever its lane did meanwhile.
@Suite("The turn of a write", .timeLimit(.minutes(2)))
struct TurnTests {
  /// The second is saved while the lane of the first begins.
  @Test(arguments: 0..<20) func `after two quick submissions, a stream asks again`(round: Int) async throws {
    let writer = Writer()
    try await writer.fetch("a")
    let (layer, notes, list) = (writer.layer, writer.notes, writer.list)
    let seen = Shared<[[String]]>([])
    let stream = Task {
      for await state in notes.states(for: list) { if let value = state.value { seen.change { $0.append(value) } } }
    }
    writer.transport.answer("/v1/b", with: accepted)
    writer.transport.answer("/v1/c", with: accepted)
    writer.transport.answer("/v1/list", with: Writer.answer(["a", "b", "c", "of the server"]))
    async let b = layer.submit(Add(name: "b")).answer()
    async let c = layer.submit(Add(name: "c")).answer()
    _ = try await (b, c)
    for await state in notes.states(for: list) where state.value?.last == "of the server" { break }
    // Nothing is due any more, so that an invalidation is heard.
    writer.transport.answer("/v1/list", with: Writer.answer(["later"]))
    await notes.invalidate(list)
    for await state in notes.states(for: list) where state.value == ["later"] { break }
    stream.cancel()
    await stream.value
    try await writer.end()
  }

  @Test func `reachability that ends is watched once, and the program may continue later`() async throws {
    let reachability = Ending()
    let bench = Bench()
    var configuration = ReactorConfiguration()
    configuration.clock = bench.clock
    configuration.now = bench.clock.wallClock
    let outbox = OutboxConfiguration(storage: MemoryOutboxStorage(), mutations: [Add.self])
    let layer = ModelLayer(
      backend: Backend(baseURL: Bench.url, transport: bench.transport, reachability: reachability),
      configuration: configuration, extensions: [.outbox(outbox)])
    bench.transport.answer("/v1/a", with: accepted)
    let submission = try await layer.submit(Add(name: "a"))
    // As many rounds as it would take to see that it goes round.
    for _ in 0..<1_000 { await Task.yield() }
    #expect(reachability.watchers.value <= 2, "watched \(reachability.watchers.value) times")
    #expect(layer.outbox.entries.count == 1)
    reachability.isOnline.change { $0 = true }
    #expect(await layer.outbox.drain(within: .seconds(10)) == 0)
    _ = try await submission.answer()
  }

  @Test func `a removal that would wait for itself leaves the outbox as it was, and it sends`() async throws {
    let writer = Writer { $0.sendsByItself = false }
    try await writer.fetch("a")
    let layer = writer.layer
    let submission = try await layer.submit(Add(name: "b"))
    let starts = (Gate(), Gate())
    let errors = Shared<[ReactorError]>([])
    let notes = writer.notes
    var flow = layer.flow([String].self)
    flow.saveToPersistence = { _, resource in
      let isFirst = resource.path == "first"
      try await (isFirst ? starts.0 : starts.1).wait()
      do throws(ReactorError) {
        if isFirst { try await layer.removeAll() } else { try await notes.remove("first") }
      } catch {
        errors.change { $0.append(error) }
      }
    }
    let reactor = Reactor(flow: flow)
    let first = Task { try await reactor.save([], for: "first") }
    let second = Task { try await reactor.save([], for: "second") }
    try await starts.0.waitForArrival()
    try await starts.1.waitForArrival()
    // Whichever comes second would wait for itself: let it be the removal of everything.
    starts.1.open()
    try await writer.log.wait(for: .removed)
    starts.0.open()
    _ = await (first.result, second.result)
    #expect(errors.value.map { "\($0)".hasPrefix("deadlock") } == [true])
    #expect(writer.states.count == 1)
    writer.transport.answer("/v1/b", with: accepted)
    #expect(await writer.outbox.drain(within: .seconds(10)) == 0)
    _ = try await submission.answer()
    try await writer.end()
  }

  /// The wall clock is not the clock of the timers.
  @Test func `a wait that begins after the clock was set forward is not lost behind a longer one`() async throws {
    let writer = Writer()
    writer.transport.answer("/v1/a", with: .response(.tooManyRequests, fields: [.retryAfter: "86400"]), accepted)
    writer.transport.answer("/v1/b", with: .response(.serviceUnavailable), accepted)
    let a = try await writer.layer.submit(Add(name: "a", lane: "a"))
    try await writer.transport.waitForRequests(count: 1)
    try await writer.clock.waitForSleepers()
    writer.clock.setWallClock(forward: .seconds(2 * 86_400))
    let b = try await writer.layer.submit(Add(name: "b", lane: "b"))
    // The backoff of b is seconds; the day of a is over by the wall clock.
    while writer.clock.nextDeadline.map({ $0.elapsed > .seconds(600) }) ?? true { await Task.yield() }
    writer.clock.advance(by: .seconds(600))
    _ = try await (a.answer(), b.answer())
    #expect(writer.states.isEmpty)
  }

  @Test func `a drain that is over adds no waiter`() {
    var state = OutboxState(isRead: false)
    let conditions = OutboxQueue.Conditions(now: .distantPast, isReachable: true)
    let drain = UUID()
    // The store is read again after a while, for which a drain waits.
    state.reading = .failed(.timedOut)
    state.drains[drain] = .some(nil)
    #expect(state.waiter(of: drain, until: nil, before: .distantFuture, conditions) != nil)
    state.drains[drain] = nil
    #expect(state.waiter(of: drain, until: nil, before: .distantFuture, conditions) == nil)
  }

  @Test func `a store that fails before a request is sent leaves no doubt about it`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store) { configuration in
      configuration.mutations.append(Slow.self)
      // What is in doubt is not sent again.
      configuration.idempotencyWindow = .zero
    }
    let submission = try await writer.layer.submit(Slow())
    try await Slow.gate.waitForArrival()
    // The lease may have ended, so that it is looked at, which fails once.
    writer.clock.setWallClock(forward: .seconds(20))
    store.claimsLeft.store(0, ordering: .relaxed)
    writer.transport.answer("/v1/slow", with: accepted)
    Slow.gate.open()
    for await entries in writer.outbox.states where entries.contains(where: { Writer.word($0.state) != "sending" }) {
      break
    }
    #expect(writer.states.first?.hasPrefix("waiting") == true, "\(writer.states)")
    #expect(writer.sent.isEmpty)
    writer.clock.setWallClock(forward: .seconds(20))
    writer.clock.advance(by: .seconds(20))
    _ = try await submission.answer()
    #expect(writer.sent == ["POST /v1/slow "])
  }

  @Test func `the end of an entry whose request is too large is saved, and the entry can be discarded`() async throws {
    let store = MemoryStore()
    let writer = Writer(storage: store) { $0.mutations.append(Large.self) }
    try await writer.fetch("a")
    let submission = try await writer.layer.submit(Large())
    guard case .invalidResource = await TestSupport.error({ try await submission.answer() }) else {
      return #expect(Bool(false), "it was not refused")
    }
    #expect(writer.shown == ["a"])
    // It is refused in the next launch too, and not prepared again.
    let next = writer.relaunched { $0.mutations.append(Large.self) }
    try await next.outbox.reload()
    #expect(next.states == ["refused"])
    #expect(next.shown == ["a"] || next.shown == nil)
    #expect(await next.outbox.discard(submission.id))
    try await writer.relaunched { $0.mutations.append(Large.self) }.outbox.reload()
    #expect(try await store.reopened().contents(of: .shared).entries.isEmpty)
  }

  @Test func `a pause while a request is made gives the lease back`() async throws {
    let store = MemoryStore()
    let one = Writer(storage: store) { $0.mutations.append(Paused.self) }
    _ = try await one.layer.submit(Paused())
    try await Paused.gate.waitForArrival()
    one.outbox.pause()
    one.transport.answer("/v1/paused", with: accepted)
    Paused.gate.open()
    for await entries in one.outbox.states where entries.allSatisfy({ Writer.word($0.state) == "waiting, paused" }) {
      break
    }
    // No time goes by in which a lease of thirty seconds could end.
    while try await !store.reopened().contents(of: .shared).leases.isEmpty { await Task.yield() }
    let other = Writer(storage: store.reopened(), on: one.bench) { configuration in
      configuration.mutations.append(Paused.self)
      configuration.sendsByItself = false
    }
    #expect(await other.outbox.drain(within: .seconds(10)) == 0)
    #expect(one.sent == ["POST /v1/paused "])
  }
}

/// A mutation whose request is made when a gate opens.
private struct Slow: Mutation {
  static let gate = Gate()

  func request(_ known: Known) async throws -> Resource {
    try await Self.gate.wait()
    return Resource("slow", method: .post)
  }
}

/// A mutation that fits, and whose request does not.
private struct Large: Mutation {
  func request(_ known: Known) -> Resource { Resource("large", method: .post, body: Data(count: 1 << 21)) }

  func draft(_ drafts: inout Drafts) { drafts.change([String].self, at: "list") { $0.append("large") } }
}

private struct Paused: Mutation {
  static let gate = Gate()

  func request(_ known: Known) async throws -> Resource {
    try await Self.gate.wait()
    return Resource("paused", method: .post)
  }
}

/// A switch of the program, whose changes end at once.
private struct Ending: Reachability {
  let isOnline = Shared(false)
  let watchers = Shared(0)

  var isReachable: Bool { isOnline.value }

  var changes: AsyncStream<Bool> {
    watchers.change { $0 += 1 }
    return AsyncStream { continuation in
      continuation.yield(isOnline.value)
      continuation.finish()
    }
  }
}
