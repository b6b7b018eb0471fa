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

  @Test func `reachability that ends is watched once, and the program may go on later`() async throws {
    let reachability = Ending()
    let bench = Bench()
    var configuration = ReactorConfiguration()
    configuration.clock = bench.clock
    configuration.now = bench.clock.wallClock
    let layer = ModelLayer(
      backend: Backend(baseURL: Bench.url, transport: bench.transport, reachability: reachability),
      configuration: configuration, outbox: OutboxConfiguration(storage: MemoryOutboxStorage(), mutations: [Add.self]))
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
