import Foundation
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A test clock` {
  let clock = TestClock(date: Date(timeIntervalSince1970: 1_000))

  @Test func `a test clock stands still until it is advanced, and moves the wall clock with it`() {
    #expect(clock.now == TestClock.Instant())
    clock.advance(by: .milliseconds(1_500))
    clock.advance(to: TestClock.Instant(elapsed: .seconds(2)))
    #expect(clock.now.elapsed == .seconds(2))
    #expect(clock.wallClock() == Date(timeIntervalSince1970: 1_002))
  }

  @Test func `a test clock never goes back`() {
    clock.advance(by: .seconds(5))
    clock.advance(to: TestClock.Instant(elapsed: .seconds(3)))
    clock.advance(by: .seconds(-1))
    #expect(clock.now.elapsed == .seconds(5))
  }

  @Test func `a test clock waits for the sleeper that is meant, whatever else sleeps`() async throws {
    let layer = Task { try await clock.sleep(for: .seconds(600)) }
    try await clock.waitForSleepers()
    clock.advance(by: .seconds(10))
    let gate = Gate()
    let debounce = Task {
      try await gate.wait()
      try await clock.sleep(for: .milliseconds(300))
    }
    let isFound = Shared(false)
    let wait = Task {
      try await clock.waitForSleeper(for: .milliseconds(300))
      isFound.change { $0 = true }
    }
    try await gate.waitForArrival()
    // Somebody sleeps, and it is not the one.
    try await clock.waitForSleepers()
    #expect(!isFound.value)
    gate.open()
    try await wait.value
    clock.advance(by: .milliseconds(300))
    try await debounce.value
    #expect(clock.sleeperCount == 1)
    layer.cancel()
    await #expect(throws: CancellationError.self) { try await layer.value }
  }

  @Test func `a test clock sets the wall clock back and wakes no sleeper`() async throws {
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    try await clock.waitForSleepers()
    clock.setWallClock(back: .seconds(60))
    #expect(clock.date == Date(timeIntervalSince1970: 940))
    clock.setWallClock(forward: .seconds(3_600))
    #expect(clock.date == Date(timeIntervalSince1970: 4_540))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    try await task.value
  }

  @Test func `a test clock wakes only the sleepers whose deadline has come`() async throws {
    let short = Task { try await clock.sleep(for: .seconds(1)) }
    let long = Task { try await clock.sleep(for: .seconds(10)) }
    try await clock.waitForSleepers(count: 2)
    #expect(clock.nextDeadline?.elapsed == .seconds(1))
    clock.advance(by: .seconds(9))
    try await short.value
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    try await long.value
    try clock.checkNobodySleeps()
  }

  @Test(arguments: [Duration.zero, .seconds(-3)])
  func `a test clock returns at once from a wait that is over`(duration: Duration) async throws {
    try await clock.sleep(for: duration)
  }

  @Test func `a test clock sleeps until never without a trap`() async throws {
    clock.advance(by: .seconds(1))
    let task = Task { try await clock.sleep(for: .never) }
    try await clock.waitForSleepers()
    clock.advance(by: .never)
    clock.advance(by: .never)
    try await task.value
  }

  @Test func `a test clock wakes by deadline, then by arrival`() async throws {
    let executor = SteppedExecutor()
    let order = Shared<[String]>([])
    try await withThrowingTaskGroup { group in
      for (name, seconds) in [("late", 2), ("first", 1), ("second", 1)] {
        group.addTask(executorPreference: executor) {
          try await clock.sleep(for: .seconds(seconds))
          order.change { $0.append(name) }
        }
      }
      executor.run()
      clock.advance(by: .seconds(3))
      executor.run()
      try await group.waitForAll()
    }
    #expect(order.value == ["first", "second", "late"])
    try clock.checkNobodySleeps()
  }

  @Test func `a test clock ends a sleep at once when its task is cancelled`() async throws {
    let task = Task { try await clock.sleep(for: .never) }
    try await clock.waitForSleepers()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try clock.checkNobodySleeps()
  }

  @Test func `a test clock reports the tasks that still sleep`() async throws {
    let task = Task { try await clock.sleep(for: .seconds(7)) }
    try await clock.waitForSleepers()
    let error = #expect(throws: TestClock.StillSleeping.self) { try clock.checkNobodySleeps() }
    #expect(error?.deadlines.map(\.elapsed) == [.seconds(7)])
    task.cancel()
  }

  @Test func `a test clock drives a repeated wait one period at a time`() async throws {
    let (ticks, continuation) = AsyncStream.makeStream(of: Duration.self)
    let task = Task {
      while true {
        try await clock.sleep(for: .seconds(1))
        continuation.yield(clock.now.elapsed)
      }
    }
    var iterator = ticks.makeAsyncIterator()
    for second in 1...3 {
      try await clock.waitForSleepers()
      clock.advance(by: .seconds(1))
      #expect(await iterator.next() == .seconds(second))
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
