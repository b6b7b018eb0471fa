import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@Suite("The settings of a request", .timeLimit(.minutes(5)))
struct RequestSettingsTests {
  @Test func `a timeout ends an attempt that takes longer`() async throws {
    let (bench, gate) = (Bench(), Gate())
    bench.transport.answer("/v1/notes/1", with: .json(Note(1, "").json).held(at: gate))
    var slow: Resource = "notes/1"
    slow.timeout = .seconds(2)
    let caller = Task { [notes = bench.notes, slow] in try await notes.fetch(slow) }
    try await bench.transport.waitForRequests()
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(1))
    #expect(bench.transport.inFlight == 1)
    bench.clock.advance(by: .seconds(1))
    let error = await #expect(throws: ReactorError.self) { try await caller.value }
    guard case .timedOut? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    gate.open()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a response in time leaves no timer`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/notes/1", with: .json(Note(1, "").json))
    var quick: Resource = "notes/1"
    quick.timeout = .seconds(2)
    _ = try await bench.notes.fetch(quick)
    try await bench.waitUntilNothingWaits()
    #expect(try await bench.notes.fetch("notes/1").id == 1)
    #expect(quick != "notes/1" && bench.transport.requestCount == 1)
  }

  @Test func `the tasks that send the request have its priority`() async throws {
    let seen = Mutex<TaskPriority?>(nil)
    let bench = Bench(
      transport: ScriptedTransport { _, _ in
        seen.withLock { $0 = Task.currentPriority }
        return .json(Note(1, "").json)
      })
    var resource: Resource = "notes/1"
    resource.priority = .high
    let fetched = resource
    _ = try await Task(priority: .low) { [notes = bench.notes] in try await notes.fetch(fetched) }.value
    #expect(seen.withLock(\.self) == .high)
  }

  private func bench(_ decide: @escaping @Sendable (RetryPolicy.FailedAttempt) -> Bool) -> Bench {
    Bench { configuration in
      configuration.retry = RetryPolicy(attempts: 3, firstDelay: .zero)
      configuration.shouldRetry = decide
    }
  }

  @Test func `a retry predicate decides on failures, and knows the attempt`() async throws {
    let seen = Mutex<[Int]>([])
    let bench = bench { attempt in
      seen.withLock { $0.append(attempt.number) }
      return attempt.status == .conflict
    }
    bench.transport.answer("/v1/notes/1", with: .response(.conflict), .json(Note(1, "").json))
    #expect(try await bench.notes.fetch("notes/1").id == 1)
    bench.transport.answer("/v1/notes/2", with: .response(.serviceUnavailable))
    await #expect(throws: ReactorError.self) { try await bench.notes.fetch("notes/2") }
    #expect(bench.transport.requestCount == 3 && seen.withLock(\.self) == [1, 1])
  }

  @Test func `a retry predicate is not asked about a success, a last attempt, or an unsafe request`() async throws {
    let count = Mutex(0)
    let bench = bench { _ in
      count.withLock { $0 += 1 }
      return true
    }
    bench.transport.answer("/v1/notes/1", with: .json(Note(1, "").json))
    _ = try await bench.notes.fetch("notes/1")
    bench.transport.answer("/v1/notes", with: .response(.badRequest))
    await #expect(throws: ReactorError.self) { try await bench.layer.send(Resource("notes", method: .post)) }
    #expect(count.withLock(\.self) == 0)
    bench.transport.answer("/v1/notes/2", with: .response(.badRequest))
    await #expect(throws: ReactorError.self) { try await bench.notes.fetch("notes/2") }
    #expect(count.withLock(\.self) == 2 && bench.transport.requestCount == 5)
  }

  @Test func `a failed attempt describes itself without a secret`() {
    let request = HTTPRequest(
      method: .get, scheme: "https", authority: "a", path: "/b?token=hidden", headerFields: [.authorization: "hidden"])
    let attempt = RetryPolicy.FailedAttempt(
      request: request, number: 2, outcome: .success(HTTPResponse(status: .conflict)))
    var dumped = ""
    dump(attempt, to: &dumped)
    #expect("\(attempt)" == "attempt 2 of GET /b: status 409" && !dumped.contains("hidden"))
  }
}
