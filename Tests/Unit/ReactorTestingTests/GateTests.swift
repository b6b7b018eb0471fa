import ReactorTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A gate` {
  let gate = Gate()

  @Test func `a gate stops a task until it is opened`() async throws {
    let task = Task { try await gate.wait() }
    try await gate.waitForArrival()
    #expect(gate.waitingCount == 1)
    gate.open()
    try await task.value
    #expect(gate.waitingCount == 0)
    #expect(gate.arrivalCount == 1)
  }

  @Test func `tasks pass a gate after it was opened, until it is closed`() async throws {
    gate.open()
    try await gate.wait()
    gate.close()
    let task = Task { try await gate.wait() }
    try await gate.waitForArrival(count: 2)
    #expect(gate.waitingCount == 1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `a gate lets one through at a time`() async throws {
    let tasks = [Task { try await gate.wait() }, Task { try await gate.wait() }]
    try await gate.waitForArrival(count: 2)
    gate.letOneThrough()
    #expect(gate.waitingCount == 1)
    gate.letOneThrough()
    for task in tasks { try await task.value }
  }

  @Test func `a gate ends a waiting task at once when that is cancelled`() async throws {
    let task = Task { try await gate.wait() }
    try await gate.waitForArrival()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(gate.waitingCount == 0)
  }

  @Test func `a gate never stops a task that was cancelled before it came`() async {
    let gate = gate
    let start = Gate()
    let task = Task {
      await start.waitIgnoringCancellation()
      try await gate.wait()
    }
    task.cancel()
    start.open()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `a gate keeps a cancelled task that ignores cancellation`() async throws {
    let task = Task {
      await gate.waitIgnoringCancellation()
      return Task.isCancelled
    }
    try await gate.waitForArrival()
    task.cancel()
    #expect(gate.waitingCount == 1)
    gate.open()
    #expect(await task.value)
  }

  @Test func `a gate ends a wait for arrivals when that is cancelled`() async {
    let task = Task { try await gate.waitForArrival(count: 5) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
