import Foundation
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

@testable import ReactorCore

@Suite("Requests between writes that overlap", .timeLimit(.minutes(5)))
struct OverlappingWritesTests {
  private let executor = SteppedExecutor()
  private let bench: Bench
  private let notes: Reactor<[String]>
  private let list = Resource("list")
  /// Where each write is under way.
  private let server = Gate()
  private let begun = Shared(0)
  private let ended = Shared(0)

  init() {
    bench = Bench(except: [.ownSteps]) { [executor] in $0.taskExecutor = executor }
    notes = bench.layer.reactor()
    bench.transport.answer("/v1/list", with: NotesDesk.answer(["a"]))
  }

  /// Sends `count` writes of the list, one after the other.
  private func lane(_ count: Int, before: @escaping @Sendable () async throws -> Void = {}) throws -> Task<
    Void, any Error
  > {
    let context = bench.layer.layer
    let keys: Set = [try context.key(list)]
    return Task(executorPreference: executor) { [server, begun, ended] in
      for _ in 0..<count {
        try await before()
        let id = UUID()
        _ = try await context.beginSending(id, keys)
        begun.change { $0 += 1 }
        await server.waitIgnoringCancellation()
        context.endSending(id, keys)
        ended.change { $0 += 1 }
      }
    }
  }

  private func fetch() -> Task<[String], any Error> {
    let task = Task(executorPreference: executor) { [notes, list] in try await notes.fetchFromNetwork(list) }
    executor.run()
    return task
  }

  private func letOneThrough() {
    server.letOneThrough()
    executor.run()
  }

  private func finish(_ lanes: [Task<Void, any Error>]) async throws {
    server.open()
    executor.run()
    for lane in lanes { try await lane.value }
    #expect(bench.layer.layer.sendings.isIdle)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `with four lanes of steady writes, a caller waits only for the writes in flight`() async throws {
    let lanes = try (0..<4).map { _ in try lane(20) }
    executor.run()
    #expect(begun.value == 4)
    let fetch = fetch()
    while bench.transport.requestCount == 0, ended.value < 80 { letOneThrough() }
    #expect(ended.value == 4)
    #expect(try await fetch.value == ["a"])
    try await finish(lanes)
    #expect(ended.value == 80)
  }

  @Test func `a request that a write has met goes before the next write`() async throws {
    let hold = Gate()
    bench.transport.answer("/v1/list", with: NotesDesk.answer(["old"]).held(at: hold), NotesDesk.answer(["a"]))
    let fetch = fetch()
    #expect(bench.transport.requestCount == 1)
    let lanes = try (0..<4).map { _ in try lane(20) }
    executor.run()
    // One of them has met the request, and the others begin after it.
    #expect(begun.value == 1)
    while bench.transport.requestCount == 1, ended.value < 80 { letOneThrough() }
    #expect(ended.value == 1)
    #expect(try await fetch.value == ["a"])
    try await finish(lanes)
  }

  @Test func `the next write begins once the caller has left a request that streams wait for too`() async throws {
    let lanes = try (0..<2).map { _ in try lane(2) }
    executor.run()
    let stream = Task(executorPreference: executor) { [notes, list] in
      for await state in notes.states(for: list, policy: .networkOnly) where state.value != nil { break }
    }
    executor.run()
    let fetch = fetch()
    letOneThrough()
    #expect(begun.value == 2, "a write has overtaken the caller")
    fetch.cancel()
    executor.run()
    #expect(begun.value == 3)
    try await finish(lanes)
    await stream.value
    await #expect(throws: ReactorError.self) { try await fetch.value }
  }

  @Test func `writes whose requests are made from a fetch of their key all end`() async throws {
    let lanes = try (0..<4).map { _ in
      try lane(5) { [notes, list] in _ = try await notes.fetchFromNetwork(list) }
    }
    executor.run()
    while ended.value < 20, server.waitingCount > 0 { letOneThrough() }
    #expect(ended.value == 20)
    try await finish(lanes)
  }
}
