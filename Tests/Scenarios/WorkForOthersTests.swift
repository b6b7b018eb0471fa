import Foundation
import HTTPTypes
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorCore

/// Work that one caller causes for others runs as those others need it.
@Suite("Work for others", .timeLimit(.minutes(5)))
struct WorkForOthersTests {
  private enum Mark { @TaskLocal static var value: Marker? }
  private final class Marker: Sendable {}

  /// The priority of each request.
  private func reactor(
    _ priorities: Shared<[TaskPriority]>, _ clock: TestClock = TestClock()
  ) -> Reactor<Int> {
    var configuration = ReactorConfiguration()
    configuration.clock = clock
    configuration.now = clock.wallClock
    configuration.keepUnusedFor = .never
    return Reactor(
      flow: ReactorFlow(configuration: configuration) { (_: Resource) in
        priorities.change { $0.append(Task.currentPriority) }
        return priorities.value.count
      })
  }

  private func see(_ value: Int, in stream: Subscription<Int>) async {
    while let state = await stream.next(), state.value != value || state.fetchStatus != .idle {}
  }

  @Test func `a request by an invalidation has the priority of the stream that waits for it`() async throws {
    let priorities = Shared<[TaskPriority]>([])
    let reactor = reactor(priorities)
    let stream = await Task(priority: .high) { reactor.states(for: "a").subscribe() }.value
    await see(1, in: stream)
    let invalidation = Task.detached(priority: .background) { await reactor.invalidate("a") }
    await see(2, in: stream)
    await invalidation.value
    #expect(priorities.value == [.high, .high])
  }

  @Test func `a request by a poll has the priority of the stream`() async throws {
    let priorities = Shared<[TaskPriority]>([])
    let clock = TestClock()
    let reactor = reactor(priorities, clock)
    let stream = await Task(priority: .high) { reactor.states(for: "a", polling: .seconds(10)).subscribe() }.value
    await see(1, in: stream)
    try await clock.waitForSleepers()
    clock.advance(by: .seconds(10))
    await see(2, in: stream)
    #expect(priorities.value == [.high, .high])
  }

  @Test func `a timer retains nothing of the caller that first needed it`() async throws {
    let clock = TestClock()
    let bench = Bench(clock: clock) { $0.keepUnusedFor = .seconds(300) }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    weak var marker: Marker?
    let open = try await { () async throws -> Subscription<Note> in
      let made = Marker()
      marker = made
      return try await Mark.$value.withValue(made) {
        _ = try await bench.notes.fetch("note")
        return bench.notes.states(for: "note", polling: .seconds(60)).subscribe()
      }
    }()
    // The sweep and the poll sleep, and both watchers wait.
    try await clock.waitForSleepers(count: 2)
    #expect(marker == nil)
    withExtendedLifetime(open) {}
  }

  @Test func `a time for which models are kept may be as long as one likes`() async throws {
    var configuration = ReactorConfiguration()
    configuration.keepUnusedFor = Duration.seconds(Int64.max) - Duration.seconds(1)
    let reactor = Reactor(flow: ReactorFlow(configuration: configuration) { (_: Resource) in 1 })
    #expect(try await reactor.fetch("a") == 1)
    // The sweep that it began sleeps for as long as a clock can.
    try await reactor.remove("a")
    #expect(try await reactor.fetch("a") == 1)
  }

  @Test(arguments: [true, false])
  func `invalidating an unknown resource retains nothing`(isPersistent: Bool) async throws {
    let bench = Bench(persistence: isPersistent ? MemoryPersistence() : nil)
    for number in 0..<2_000 { await bench.notes.invalidate(Resource("note\(number)")) }
    #expect(bench.layer.keys.count == 0)
  }

  @Test func `invalidations that the disk does not take are kept for a bounded number of keys`() async throws {
    let faulty = FaultyPersistence()
    let bench = Bench(persistence: faulty) { $0.memoryLimit.models = 100 }
    faulty.failAlways(.load, with: Broken())
    faulty.failAlways(.entries, with: Broken())
    faulty.failAlways(.save, with: Broken())
    for number in 0..<2_000 { await bench.notes.invalidate(Resource("note\(number)")) }
    #expect(bench.log.count(.saveFailed) == 2_000)
    #expect(bench.layer.keys.count <= 100)
  }
}
