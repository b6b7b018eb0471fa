import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// Changes during a call of an observer. Each happens inside the call, on an executor that runs
/// until no job is left.
@Suite("Races of events", .timeLimit(.minutes(5)))
struct EventRaceTests {
  private let executor = SteppedExecutor()
  private let reactor: Reactor<String>

  init() {
    var configuration = ReactorConfiguration()
    configuration.taskExecutor = executor
    reactor = Reactor(flow: ReactorFlow(configuration: configuration) { $0.path })
  }

  /// Returns the events of an observer, in order, with `change` during its first call.
  private func events(during change: @escaping @Sendable () async throws -> Void) async throws
    -> [ReactorEvent.Kind.Name]
  {
    let told = Shared<[ReactorEvent.Kind.Name]>([])
    let executor = executor
    let token = reactor.observeEvents { event in
      told.change { $0.append(event.kind.name) }
      if told.value.count == 1 { executor.run() }
    }
    let task = Task(executorPreference: executor) { try await change() }
    await reactor.invalidate("other")
    executor.run()
    try await task.value
    token.cancel()
    #expect(executor.isIdle)
    return told.value
  }

  @Test func `the events of a hit and of a later removal are in that order`() async throws {
    try await save()
    let reactor = reactor
    let events = try await events {
      #expect(try await reactor.fetch("a") == "1")
      try await reactor.remove("a")
    }
    #expect(events == [.invalidated, .memoryHit, .removed])
  }

  @Test func `no hit follows a removal whose event is still queued`() async throws {
    try await save()
    let reactor = reactor
    let events = try await events {
      try await reactor.remove("a")
      #expect(try await reactor.fetch("a") == "a")
    }
    #expect(events.prefix(3) == [.invalidated, .removed, .memoryMiss])
  }

  /// From outside of the executor, which has to run for it.
  private func save() async throws {
    let task = Task(executorPreference: executor) { [reactor] in try await reactor.save("1", for: "a") }
    executor.run()
    try await task.value
  }
}
