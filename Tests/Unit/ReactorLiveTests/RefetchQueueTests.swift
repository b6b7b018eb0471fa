import HTTPCaching
import ReactorCore
import Testing

@testable import ReactorLive

@Suite("The queue of changed keys") struct RefetchQueueTests {
  private let keys = (0..<8).map { number in
    RecordKey(
      method: .get, url: "https://api.example.com/\(number)", scope: .shared, secretQueryItems: [],
      digests: .ofProcess)
  }
  private var queue = RefetchQueue(concurrency: 2, interval: .milliseconds(250))

  @Test mutating func `a quiet key is requested at once, and only as many at a time as allowed`() {
    queue.add(Array(keys.prefix(3)), at: .zero)
    #expect(queue.next(at: .zero) == [keys[0], keys[1]])
    #expect(queue.next(at: .seconds(9)).isEmpty)
    #expect(queue.deadline == nil)
    queue.ended(keys[0], isOutdated: false, hasFailed: false, at: .milliseconds(10))
    #expect(queue.next(at: .milliseconds(10)) == [keys[2]])
  }

  @Test mutating func `a hundred changes during a request cause one more, after twice its duration`() {
    queue.add([keys[0]], at: .zero)
    #expect(queue.next(at: .zero) == [keys[0]])
    for _ in 0..<100 { queue.add([keys[0]], at: .milliseconds(50)) }
    queue.ended(keys[0], isOutdated: true, hasFailed: false, at: .milliseconds(200))
    #expect(queue.deadline == .milliseconds(400))
    #expect(queue.next(at: .milliseconds(399)).isEmpty)
    #expect(queue.next(at: .milliseconds(400)) == [keys[0]])
    queue.ended(keys[0], isOutdated: false, hasFailed: false, at: .milliseconds(410))
    #expect(queue.count == 0)
    // A short request rests for the interval.
    queue.add([keys[0]], at: .milliseconds(420))
    #expect(queue.deadline == .milliseconds(650))
  }

  @Test mutating func `a request that fails for the moment is repeated ever later, and another change comes first`() {
    queue.add([keys[0]], at: .zero)
    var time = Duration.zero
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
      #expect(queue.next(at: time) == [keys[0]])
      queue.ended(keys[0], isOutdated: true, hasFailed: true, at: time)
      #expect(queue.deadline == time + .seconds(wait))
      time += .seconds(wait)
    }
    queue.retryFailed(at: time - .seconds(50))
    #expect(queue.next(at: time - .seconds(50)) == [keys[0]])
    queue.ended(keys[0], isOutdated: true, hasFailed: true, at: time - .seconds(50))
    #expect(queue.deadline == time - .seconds(49))
    queue.add([keys[0]], at: time - .seconds(49.7))
    #expect(queue.next(at: time - .seconds(49.7)) == [keys[0]])
  }

  @Test mutating func `a key that stays out of date, though nothing changes, is asked for ever less often`() {
    queue.add([keys[0]], at: .zero)
    var time = Duration.zero
    for wait in [1, 2, 4, 8] {
      #expect(queue.next(at: time) == [keys[0]])
      queue.ended(keys[0], isOutdated: true, hasFailed: false, at: time)
      #expect(queue.deadline == time + .seconds(wait))
      time += .seconds(wait)
    }
  }

  @Test mutating func `a key that failed for good is asked for again only if it changes`() {
    queue.add([keys[0]], at: .zero)
    _ = queue.next(at: .zero)
    queue.drop(keys[0], at: .zero)
    #expect(queue.count == 0)
    queue.add([keys[1]], at: .zero)
    _ = queue.next(at: .zero)
    queue.add([keys[1]], at: .milliseconds(10))
    queue.drop(keys[1], at: .milliseconds(20))
    #expect(queue.next(at: .milliseconds(250)) == [keys[1]])
  }

  /// With a sort at each step, this takes minutes.
  @Test(.timeLimit(.minutes(1)))
  mutating func `twenty thousand keys are requested in the order of their changes, each step at little cost`() {
    let keys = (0..<20_000).map { number in
      RecordKey(
        method: .get, url: "https://api.example.com/\(number)", scope: .shared, secretQueryItems: [],
        digests: .ofProcess)
    }
    queue.add(keys, at: .zero)
    // Named again, which changes nothing.
    queue.add(keys.reversed(), at: .milliseconds(1))
    var (asked, time): ([RecordKey], Duration) = ([], .milliseconds(1))
    while asked.count < keys.count {
      let next = queue.next(at: time)
      guard !next.isEmpty else { break }
      asked += next
      time += .milliseconds(1)
      for key in next { queue.ended(key, isOutdated: false, hasFailed: false, at: time) }
    }
    #expect(asked == keys)
    #expect(queue.count == 0 && queue.deadline == nil)
  }

  @Test mutating func `a key that is dropped or asked for earlier leaves no turn behind`() {
    for key in keys.prefix(2) {
      queue.add([key], at: .zero)
      #expect(queue.next(at: .zero) == [key])
      queue.ended(key, isOutdated: true, hasFailed: true, at: .zero)
    }
    #expect(queue.deadline == .seconds(1))
    queue.add([keys[1]], at: .milliseconds(300))
    #expect(queue.next(at: .milliseconds(300)) == [keys[1]])
    queue.drop(keys[1], at: .milliseconds(310))
    #expect(queue.deadline == .seconds(1))
    #expect(queue.next(at: .seconds(2)) == [keys[0]])
    #expect(queue.next(at: .seconds(2)).isEmpty)
  }
}
