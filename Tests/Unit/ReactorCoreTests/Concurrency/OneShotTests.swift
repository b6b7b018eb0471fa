import TestSupport
import Testing

@testable import ReactorCore

@Suite(.timeLimit(.minutes(5))) struct `A value that is set once` {
  private let shot = OneShot<Int>()

  @Test func `a value that is set once is the first that is set`() async {
    #expect(!shot.isSettled)
    #expect(shot.settle(1))
    #expect(!shot.settle(2))
    #expect(shot.isSettled)
    #expect(await shot.value == 1)
  }

  @Test func `a value that is set once wakes its waiters`() async {
    let executor = SteppedExecutor()
    let waiter = Task(executorPreference: executor) { [shot] in await shot.value }
    executor.run()
    #expect(shot.settle(1))
    executor.run()
    #expect(await waiter.value == 1)
  }

  @Test func `a value that is set once goes to one waiter, cancelled or not`() async {
    let waiter = Task { [shot] in await shot.value }
    waiter.cancel()
    shot.settle(1)
    #expect(await waiter.value == 1)
  }
}
