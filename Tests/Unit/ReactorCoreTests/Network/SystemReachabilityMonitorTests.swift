import Synchronization
import Testing

@testable import ReactorCore

@Suite(.timeLimit(.minutes(5))) struct `A monitor of reachability` {
  /// The system, as the test plays it.
  final class System: Sendable {
    private let report = Mutex<(@Sendable (Bool) -> Void)?>(nil)
    private let stops = Mutex(0)
    var timesStopped: Int { stops.withLock { $0 } }

    func say(_ isReachable: Bool) { report.withLock { $0 }?(isReachable) }

    var source: SystemReachabilityMonitor.Source {
      { report in
        self.report.withLock { $0 = report }
        report(false)
        return { self.stops.withLock { $0 += 1 } }
      }
    }
  }

  let system = System()

  @Test func `a monitor of reachability knows the first report at once, then the latest`() {
    let monitor = SystemReachabilityMonitor(source: system.source)
    #expect(!monitor.isReachable)
    system.say(true)
    #expect(monitor.isReachable)
  }

  @Test func `a reachability stream yields the current value, then each change, none twice`() async {
    let monitor = SystemReachabilityMonitor(source: system.source)
    var first = monitor.changes.makeAsyncIterator()
    #expect(await first.next() == false)
    system.say(true)
    system.say(true)
    var second = monitor.changes.makeAsyncIterator()
    #expect([await first.next(), await second.next()] == [true, true])
    system.say(false)
    #expect([await first.next(), await second.next()] == [false, false])
  }

  @Test(arguments: [999, 1_000])
  func `a slow reader of reachability gets the last change, and no repetition`(count: Int) async {
    let monitor = SystemReachabilityMonitor(source: system.source)
    var reader = monitor.changes.makeAsyncIterator()
    var read = [await reader.next()]
    for number in 1...count { system.say(!number.isMultiple(of: 2)) }
    let last = monitor.isReachable
    repeat { read.append(await reader.next()) } while read.last != last || read.count < 3 && last == false
    #expect(zip(read, read.dropFirst()).allSatisfy { $0 != $1 })
    #expect(read.count <= 3)
  }

  @Test func `a monitor of reachability forgets a released stream`() {
    let monitor = SystemReachabilityMonitor(source: system.source)
    _ = monitor.changes
    #expect(monitor.openStreams == 0)
  }

  @Test func `a monitor of reachability lives as long as its last stream`() async {
    var monitor: SystemReachabilityMonitor? = SystemReachabilityMonitor(source: system.source)
    var iterator = monitor?.changes.makeAsyncIterator()
    monitor = nil
    #expect(await iterator?.next() == false)
    system.say(true)
    #expect(await iterator?.next() == true)
    iterator = nil
    #expect(system.timesStopped == 1)
  }

  @Test func `a monitor of reachability ends with its owner`() {
    var monitor: SystemReachabilityMonitor? = SystemReachabilityMonitor(source: system.source)
    #expect(monitor?.isReachable == false)
    monitor = nil
    #expect(system.timesStopped == 1)
  }

  @Test func `a monitor of reachability is one for all of the process`() {
    let (first, second) = (Backend.SystemReachability(), Backend.SystemReachability())
    #expect(first.started() === second.started())
  }

  @Test func `a monitor of reachability answers on this machine, and its stream begins with the same`() async {
    let reachability = Backend.SystemReachability()
    var iterator = reachability.changes.makeAsyncIterator()
    #expect(await iterator.next() == reachability.isReachable)
  }
}
