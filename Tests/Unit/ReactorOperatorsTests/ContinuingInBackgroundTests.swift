import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOperators

@Suite("Operators: continuing in the background", .timeLimit(.minutes(5)))
struct ContinuingInBackgroundTests {
  let time = ScriptedBackgroundTime()
  let base = ScriptedSequence<Int>()
  let life = Latch()

  private var sequence: ContinuingInBackground<Watched<ScriptedSequence<Int>>> {
    Watched(base: base, ended: life)
      .continuingInBackground(named: "upload", timeoutError: Expired(), using: time)
  }

  @Test func `the elements and the end pass, and the time is held from the beginning to the end`() async throws {
    let sequence = sequence
    #expect(time.names == [])
    var iterator = sequence.makeAsyncIterator()
    #expect(time.names == ["upload"])
    base.send(1, 2)
    base.finish()
    #expect(try await [iterator.next(), iterator.next()] == [1, 2])
    #expect(time.names == ["upload"])
    #expect(try await iterator.next() == nil)
    #expect(time.names == [])
    #expect(try await iterator.next() == nil)
    try await life.wait()
  }

  @Test func `each iteration holds its own background time`() async throws {
    let iterators = [sequence.makeAsyncIterator(), sequence.makeAsyncIterator()]
    withExtendedLifetime(iterators) { #expect(time.names == ["upload", "upload"]) }
  }

  @Test func `its own failure passes, once`() async throws {
    var iterator = elements([1], thenThrow: Broken())
      .continuingInBackground(named: "upload", timeoutError: Expired(), using: time).makeAsyncIterator()
    #expect(try await iterator.next() == 1)
    let outcome = await iterator.outcome()
    #expect(throws: Broken.self) { try outcome.get() }
    #expect(time.names == [])
    #expect(try await iterator.next() == nil)
  }

  @Test func `an element is requested when its reader requests one, and none before`() async throws {
    let asked = Shared(0)
    let base = AsyncStream {
      asked.change { count in
        count += 1
        return count
      }
    }
    let sequence = Watched(base: base, ended: life)
      .continuingInBackground(named: "count", timeoutError: Expired(), using: time)
    var iterator = Optional(sequence.makeAsyncIterator())
    for count in 1...3 { #expect(try await iterator?.next() == count) }
    iterator = nil
    try await life.wait()
    #expect(asked.value == 3)
  }

  // MARK: Expiry

  @Test func `expired before it is read, it fails, once`() async throws {
    var iterator = sequence.makeAsyncIterator()
    time.expire()
    let outcome = await iterator.outcome()
    #expect(throws: Expired.self) { try outcome.get() }
    #expect(try await iterator.next() == nil)
  }

  @Test func `expired before it has begun, it fails and does not run`() async throws {
    let begun = Latch()
    let sequence = Watched(base: base, begun: begun, ended: life)
      .continuingInBackground(named: "", timeoutError: Expired(), using: ScriptedBackgroundTime(isGiven: false))
    var iterator = Optional(sequence.makeAsyncIterator())
    let outcome = await iterator?.outcome()
    #expect(throws: Expired.self) { try outcome?.get() }
    iterator = nil
    #expect(!begun.isOpen)
  }

  @Test(arguments: [0, 1]) func `expired while it waits, it fails at once and is cancelled`(given: Int) async throws {
    let reader = Reader(sequence)
    for number in 0..<given {
      base.send(number)
      #expect(try await reader.next() == number)
    }
    try await base.waitUntilHandled()
    time.expire()
    await #expect(throws: Expired.self) { try await reader.next() }
    #expect(time.names == [])
    try await base.waitUntilEnded()
    try await life.wait()
  }

  @Test func `expired between two elements, it fails at the next`() async throws {
    var iterator = sequence.makeAsyncIterator()
    base.send(1, 2)
    #expect(try await iterator.next() == 1)
    time.expire()
    let outcome = await iterator.outcome()
    #expect(throws: Expired.self) { try outcome.get() }
    #expect(try await iterator.next() == nil)
    try await life.wait()
  }

  @Test func `expired after the end, it has ended`() async throws {
    let time = RecordingBackgroundTime()
    var iterator = elements([Int]())
      .continuingInBackground(named: "", timeoutError: Expired(), using: time).makeAsyncIterator()
    #expect(try await iterator.next() == nil)
    time.expireEvenWhatHasEnded()
    #expect(try await iterator.next() == nil)
    #expect(time.endedCount == 1)
  }

  @Test(arguments: [true, false])
  func `work that ignores its cancellation blocks no caller`(expires: Bool) async throws {
    let gate = Gate()
    let stubborn = AsyncStream<Int> {
      await gate.waitIgnoringCancellation()
      return 1
    }
    let reader = Reader(
      Watched(base: stubborn, ended: life)
        .continuingInBackground(named: "", timeoutError: Expired(), using: time))
    try await gate.waitForArrival()
    if expires {
      time.expire()
      await #expect(throws: Expired.self) { try await reader.next() }
    } else {
      await reader.cancel()
      await #expect(throws: CancellationError.self) { try await reader.next() }
    }
    #expect(time.names == [])
    #expect(!life.isOpen)
    gate.open()
    try await life.wait()
  }

  // MARK: Cancellation and release

  @Test func `cancelled while it waits, it fails at once and gives its time back`() async throws {
    let reader = Reader(sequence)
    try await base.waitUntilHandled()
    await reader.cancel()
    await #expect(throws: CancellationError.self) { try await reader.next() }
    #expect(time.names == [])
    try await base.waitUntilEnded()
    try await life.wait()
  }

  @Test func `read by a task that is cancelled, it fails`() async throws {
    let (sequence, gate) = (sequence, Gate())
    let task = Task {
      var iterator = sequence.makeAsyncIterator()
      await gate.waitIgnoringCancellation()
      return try await iterator.next()
    }
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(time.names == [])
  }

  @Test(arguments: [0, 1]) func `a released iterator ends and gives its background time back`(given: Int) async throws {
    var iterator = Optional(sequence.makeAsyncIterator())
    for number in 0..<given {
      base.send(number)
      #expect(try await iterator?.next() == number)
    }
    iterator = nil
    #expect(time.names == [])
    if given > 0 { try await life.wait() }
  }

  @Test(arguments: Ending.allCases) func `its time is given back once, and nothing is kept`(ending: Ending) async throws
  {
    let time = RecordingBackgroundTime()
    let (begun, released) = (Latch(), Latch())
    weak var run: AnyObject?
    do {
      let base =
        switch ending {
        case .end: elements([Int]())
        case .failure: elements([Int](), thenThrow: Broken())
        case .expiry, .cancellation, .release: throwsWhenCancelled(begun)
        }
      let kept = Deinitializing(released)
      let iterator = Watched(base: base, ended: life, kept: kept)
        .continuingInBackground(named: "", timeoutError: Expired(), using: time).makeAsyncIterator()
      run = iterator.run
      let elements = iterator.run.elements
      switch ending {
      case .end: #expect(try await elements.next() == nil)
      case .failure: await #expect(throws: Broken.self) { try await elements.next() }
      case .expiry, .cancellation:
        let task = Task { try await elements.next() }
        try await begun.wait()
        if ending == .expiry { time.expireEvenWhatHasEnded() } else { task.cancel() }
        await #expect(throws: (any Error).self) { try await task.value }
      case .release: break
      }
    }
    #expect(time.endedCount == 1)
    #expect(run == nil)
    try await released.wait()
  }

  // MARK: With others

  @Test func `the time of a grace period is time`() async throws {
    let clock = TestClock()
    let grace = GracePeriod(clock: clock)
    let reader = Reader(base.continuingInBackground(named: "", timeoutError: Expired(), using: grace))
    try await base.waitUntilHandled()
    let end = Task { await grace.end(within: .seconds(30)) }
    try await clock.waitForSleepers()
    base.send(1)
    #expect(try await reader.next() == 1)
    clock.advance(by: .seconds(30))
    await end.value
    await #expect(throws: Expired.self) { try await reader.next() }
    try await base.waitUntilEnded()
    #expect(grace.activityCount == 0)
    try clock.checkNobodySleeps()
  }

  #if !canImport(Darwin)
    @Test func `by default, background time is the system's, which has no end on Linux`() async throws {
      let sequence = elements([1, 2]).continuingInBackground(named: "", timeoutError: Expired())
      #expect(try await sequence.collect() == [1, 2])
    }
  #endif

  @Test func `expiry, cancellation and an element at once end it one way or another`() async throws {
    for _ in 0..<300 {
      let (time, base) = (ScriptedBackgroundTime(), ScriptedSequence<Int>())
      let sequence = base.continuingInBackground(named: "", timeoutError: Expired(), using: time)
      let reading = Task { try await sequence.collect() }
      try await base.waitUntilHandled()
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          base.send(1)
          base.finish()
        }
        group.addTask { time.expire() }
        group.addTask { reading.cancel() }
      }
      switch await reading.result {
      case .success(let elements): #expect(elements == [1])
      case .failure(let error): #expect(error is Expired || error is CancellationError)
      }
      #expect(time.names == [])
      try await base.waitUntilEnded()
    }
  }
}

private struct Expired: Error {}

extension AsyncIteratorProtocol where Element: Sendable {
  fileprivate mutating func outcome() async -> Result<Element?, any Error> {
    do { return .success(try await next(isolation: nil)) } catch { return .failure(error) }
  }
}

/// The events that end the sequence.
enum Ending: CaseIterable { case end, failure, expiry, cancellation, release }

/// Opens the latch when it is released.
private final class Deinitializing: Sendable {
  private let latch: Latch
  init(_ latch: Latch) { self.latch = latch }
  deinit { latch.open() }
}

/// Tells when the sequence begins, and when its iterator is gone.
private struct Watched<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable {
  let base: Base
  var begun = Latch()
  let ended: Latch
  var kept: Deinitializing?

  func makeAsyncIterator() -> Iterator {
    begun.open()
    return Iterator(base: base.makeAsyncIterator(), life: Deinitializing(ended))
  }

  struct Iterator: AsyncIteratorProtocol {
    var base: Base.AsyncIterator
    let life: Deinitializing

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> Base.Element? {
      try await base.next(isolation: actor)
    }
  }
}

/// Counts the ends, and keeps what to call.
private final class RecordingBackgroundTime: BackgroundTime {
  private let expired = Shared<[@Sendable () -> Void]>([])
  private let ended = Shared(0)

  var endedCount: Int { ended.value }

  func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> BackgroundActivity {
    self.expired.change { $0.append(expired) }
    return BackgroundActivity { [ended] in ended.change { $0 += 1 } }
  }

  func expireEvenWhatHasEnded() {
    for expired in expired.change({ all in
      defer { all = [] }; return all
    }) { expired() }
  }
}
