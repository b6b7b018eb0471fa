import ReactorTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Scripted reachability` {
  let reachability = ScriptedReachability(false)

  @Test func `counts how often it was asked`() {
    #expect(reachability.timesAsked == 0)
    #expect(!reachability.isReachable)
    reachability.set(true)
    #expect(reachability.isReachable)
    #expect(reachability.timesAsked == 2)
  }

  @Test func `gives each stream the current value first, then the changes`() async {
    var first = reachability.changes.makeAsyncIterator()
    reachability.set(true)
    var second = reachability.changes.makeAsyncIterator()
    reachability.set(true)
    reachability.set(false)
    #expect([await first.next(), await first.next(), await first.next()] == [false, true, false])
    #expect([await second.next(), await second.next()] == [true, false])
  }

  @Test func `tells its streams in the order in which they began`() async {
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

  @Test func `forgets a stream that was cancelled`() async {
    let changes = reachability.changes
    #expect(reachability.openStreams == 1)
    let task = Task { for await _ in changes {} }
    task.cancel()
    await task.value
    #expect(reachability.openStreams == 0)
  }

  @Test func `forgets a stream that was let go`() {
    _ = reachability.changes
    #expect(reachability.openStreams == 0)
  }

  @Test func `ends its streams with its own life`() async {
    var reachability: ScriptedReachability? = ScriptedReachability(true)
    var iterator = reachability?.changes.makeAsyncIterator()
    #expect(await iterator?.next() == true)
    reachability = nil
    #expect(await iterator?.next() == nil)
  }
}
