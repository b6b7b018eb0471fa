import Dispatch

/// A place in an effect at which a test holds it. Once it is open, it stays open.
final class Gate: Sendable {
  private let (opened, opening) = AsyncStream.makeStream(of: Void.self)
  private let (arrived, arriving) = AsyncStream.makeStream(of: Void.self)
  private let semaphore = DispatchSemaphore(value: 0)

  func open() { opening.finish() }

  /// Waits until the gate is open, even in a task that is cancelled.
  func pass() async {
    reach()
    let opened = opened
    await Task { for await _ in opened {} }.value
  }

  func pass(_ value: Int) async -> Int {
    await pass()
    return value
  }

  func reach() {
    arriving.finish()
    semaphore.signal()
  }

  func reached() async { for await _ in arrived {} }

  func blockUntilReached() { semaphore.wait() }
}
