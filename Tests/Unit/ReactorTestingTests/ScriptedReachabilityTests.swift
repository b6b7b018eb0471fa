import ReactorTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Scripted reachability` {
  let reachability = ScriptedReachability(false)

  @Test func `scripted reachability counts its reads`() {
    #expect(reachability.timesAsked == 0)
    #expect(!reachability.isReachable)
    reachability.set(true)
    #expect(reachability.isReachable)
    #expect(reachability.timesAsked == 2)
  }

  @Test func `scripted reachability yields the current value, then the changes`() async {
    var first = reachability.changes.makeAsyncIterator()
    reachability.set(true)
    var second = reachability.changes.makeAsyncIterator()
    reachability.set(true)
    reachability.set(false)
    #expect([await first.next(), await first.next(), await first.next()] == [false, true, false])
    #expect([await second.next(), await second.next()] == [true, false])
  }

  @Test func `scripted reachability notifies its streams in the order of their beginning`() async {
    let executor = SteppedExecutor()
    let told = Shared<[Int]>([])
    let readers = (0..<20).map { number in
      let changes = reachability.changes
      let read: @Sendable @concurrent () async -> Void = {
        guard await changes.first(where: \.self) == true else { return }
        told.change { $0.append(number) }
      }
      return Task(executorPreference: executor, operation: read)
    }
    executor.run()
    reachability.set(true)
    executor.run()
    for reader in readers { await reader.value }
    #expect(told.value == Array(0..<20))
  }

  @Test func `scripted reachability forgets a cancelled stream`() async {
    let changes = reachability.changes
    #expect(reachability.openStreams == 1)
    let task = Task { for await _ in changes {} }
    task.cancel()
    await task.value
    #expect(reachability.openStreams == 0)
  }

  @Test func `scripted reachability forgets a released stream`() {
    _ = reachability.changes
    #expect(reachability.openStreams == 0)
  }

  @Test func `the streams of scripted reachability end when it is released`() async {
    var reachability: ScriptedReachability? = ScriptedReachability(true)
    var iterator = reachability?.changes.makeAsyncIterator()
    #expect(await iterator?.next() == true)
    reachability = nil
    #expect(await iterator?.next() == nil)
  }
}
