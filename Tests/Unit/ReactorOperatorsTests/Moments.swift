import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport

/// The moments of a test, for one reader. The test can wait until the reader has dealt with all of
/// them.
final class Moments: AppActivity, ReactorConfiguration.MemoryPressure {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let asked = Gate(isOpen: true)
  private let come = Shared(0)
  /// Open once nothing listens any more.
  let ended = Latch()

  init() {
    (stream, continuation) = AsyncStream.makeStream()
  }

  var becameActive: AsyncStream<Void> {
    AsyncStream { [stream, asked] in
      try? await asked.wait()
      for await moment in stream { return moment }
      return nil
    } onCancel: { [ended] in
      ended.open()
    }
  }

  var warnings: AsyncStream<Void> { becameActive }

  /// Returns once the reader has dealt with this moment: it asks for the next one.
  func comes() async throws {
    let count = come.change { come in
      come += 1
      return come
    }
    continuation.yield()
    try await asked.waitForArrival(count: count + 1)
  }
}
