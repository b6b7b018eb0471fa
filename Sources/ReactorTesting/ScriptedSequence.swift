import Synchronization

/// A sequence whose elements the test sends, such as the conditions and triggers of an operator.
/// The test can wait until its reader has handled them.
///
/// ```swift
/// let isOnScreen = ScriptedSequence<Bool>()
/// let states = stories.fetches("stories").loadStates()
///   .reloadPeriodically(every: .seconds(30), while: isOnScreen, clock: clock)
/// …
/// isOnScreen.send(false)
/// try await isOnScreen.waitUntilHandled()
/// clock.advance(by: .seconds(30))   // and nothing is loaded
/// ```
///
/// Elements wait for the reader, however many there are. The sequence is for one reader at a time:
/// of two, each gets a part of the elements. One that comes later gets those that are left.
public struct ScriptedSequence<Element: Sendable>: AsyncSequence, Sendable {
  public typealias Failure = Never

  private let stream: CountedStream<Element>
  private let ended = Tally()

  /// Creates a sequence without elements.
  public init() {
    stream = CountedStream()
    stream.continuation.onTermination = { [ended, calls = stream.calls] termination in
      // The elements before the end have yet to be read.
      if case .cancelled = termination { calls.end() }
      ended.add(1)
    }
  }

  /// Sends elements to the reader, in order. Returns at once.
  public func send(_ elements: Element...) { for element in elements { stream.yield(element) } }

  /// Ends the sequence after the elements that were sent.
  public func finish() { stream.continuation.finish() }

  /// A Boolean value that indicates whether the reader was cancelled, or the sequence is finished.
  public var hasEnded: Bool { ended.value > 0 }

  /// Returns once the reader has handled all elements that were sent: it has asked for another, was
  /// cancelled, or has left its loop.
  ///
  /// Through an operator that requests one element at a time, as `map` and `combineLatest` do, the
  /// reader of the operator has handled them. A reader that has yet to begin is waited for.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitUntilHandled() async throws { try await stream.calls.waitUntilHandled() }

  /// Returns once the reader was cancelled, or the sequence is finished.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitUntilEnded() async throws { try await ended.wait(for: 1) }

  public func makeAsyncIterator() -> Iterator {
    Iterator(stream: stream.stream.makeAsyncIterator(), reader: Reader(stream.calls))
  }

  /// An iterator. A call shows that the earlier elements were handled.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var stream: AsyncStream<Element>.Iterator
    fileprivate let reader: Reader

    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      reader.ask()
      return await stream.next(isolation: actor)
    }
  }

  /// The reader of an iterator and its copies. It leaves when the last of them is released, as
  /// after a `break`.
  fileprivate final class Reader {
    private let calls: ReaderCalls
    private var hasAsked = false

    init(_ calls: ReaderCalls) { self.calls = calls }

    func ask() {
      hasAsked = true
      calls.asked()
    }

    deinit { if hasAsked { calls.leave() } }
  }
}

/// A stream, the number of its elements, and the number of its reader's calls.
struct CountedStream<Element: Sendable>: Sendable {
  let stream: AsyncStream<Element>
  let continuation: AsyncStream<Element>.Continuation
  let calls = ReaderCalls()

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func yield(_ element: Element) {
    calls.sent()
    continuation.yield(element)
  }

  /// The stream, whose reader's calls are counted.
  var counted: AsyncStream<Element> {
    AsyncStream { [stream, calls] in
      calls.asked()
      var iterator = stream.makeAsyncIterator()
      return await iterator.next()
    }
  }
}

/// The calls of a reader for another element, and the number of elements that were sent to it.
final class ReaderCalls: Sendable {
  private enum Phase { case reading, left, over }

  private let sentCount = Atomic(0)
  private let askedCount = Tally()
  /// More than any count of elements: it lets everybody through.
  private static let all = Int.max / 4
  private let phase = Mutex(Phase.reading)

  func sent() { sentCount.add(1, ordering: .acquiringAndReleasing) }

  func asked() {
    let isBack = phase.withLock { phase in
      guard phase == .left else { return false }
      phase = .reading
      return true
    }
    askedCount.add(isBack ? 1 - Self.all : 1)
  }

  /// Lets everybody through, until another reader asks.
  func leave() { change(to: .left) }

  /// Lets everybody through: nobody reads any more.
  func end() { change(to: .over) }

  private func change(to end: Phase) {
    let isFirst = phase.withLock { phase in
      defer { if phase != .over { phase = end } }
      return phase == .reading
    }
    if isFirst { askedCount.add(Self.all) }
  }

  /// Returns once the reader has requested the element after the last one sent.
  func waitUntilHandled() async throws {
    try await askedCount.wait(for: sentCount.load(ordering: .acquiring) + 1)
  }
}
