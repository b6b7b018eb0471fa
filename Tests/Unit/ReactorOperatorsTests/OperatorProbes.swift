import ReactorTesting
import TestSupport

/// Elements and then the end, or an error.
func elements<Element: Sendable>(_ elements: [Element], thenThrow error: (any Error)? = nil)
  -> AsyncThrowingStream<Element, any Error>
{
  AsyncThrowingStream { continuation in
    for element in elements { continuation.yield(element) }
    continuation.finish(throwing: error)
  }
}

/// Waits for what never comes, and throws when it is cancelled.
func throwsWhenCancelled(_ begun: Latch) -> AsyncThrowingStream<Int, any Error> {
  let gate = Gate()
  return AsyncThrowingStream {
    begun.open()
    try await gate.wait()
    return 1
  }
}

extension AsyncSequence {
  func collect() async throws -> [Element] {
    var elements: [Element] = []
    for try await element in self { elements.append(element) }
    return elements
  }
}

/// Each run gives its number, and ends.
struct Runs: AsyncSequence, Sendable {
  typealias Failure = any Error

  private let tick = Tick()
  private let held: Gate?
  private let failing: Int?

  /// - Parameters:
  ///   - held: where each run waits before it ends.
  ///   - failing: the run that throws ``TestSupport/Broken``.
  init(heldAt held: Gate? = nil, failing: Int? = nil) {
    self.held = held
    self.failing = failing
  }

  func makeAsyncIterator() -> Iterator { Iterator(number: tick.next(), held: held, failing: failing) }

  struct Iterator: AsyncIteratorProtocol {
    let number: Int
    let held: Gate?
    let failing: Int?
    var isGiven = false

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> Int? {
      if failing == number { throw Broken() }
      if isGiven {
        try await held?.wait()
        return nil
      }
      isGiven = true
      return number
    }
  }
}

/// Reads a sequence in a separate task, so that the test can move the time meanwhile.
final class Reader<Element: Sendable>: Sendable {
  private let read: AsyncThrowingStream<Element, any Error>
  private let task: Task<Void, Never>

  init<Sequence: AsyncSequence & Sendable>(_ sequence: Sequence) where Sequence.Element == Element {
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: Element.self)
    read = stream
    task = Task {
      do {
        for try await element in sequence { continuation.yield(element) }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
  }

  deinit { task.cancel() }

  func next() async throws -> Element? {
    // The iterators of one stream share what it holds.
    var iterator = read.makeAsyncIterator()
    return try await iterator.next()
  }

  /// Cancels, and returns once the sequence has ended.
  func cancel() async {
    task.cancel()
    await task.value
  }
}
