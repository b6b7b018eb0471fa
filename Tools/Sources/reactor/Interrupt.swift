import Dispatch
import Foundation
import Synchronization

/// Ends work in order on Ctrl-C (SIGINT) and SIGTERM.
enum Interrupt {
  /// Runs `body` in a task that the first signal cancels. A further signal, at least a second
  /// later, ends the process at once.
  ///
  /// - Returns: The result of `body`, or 128 plus the number of the signal.
  static func cancelling(_ body: @escaping @Sendable () async -> Int32) async -> Int32 {
    let (status, signal) = await run(body)
    return signal.map { 128 + $0 } ?? status
  }

  /// Runs `body` like ``cancelling(_:)``, for work that only a signal ends. Returns the result of
  /// `body` even after a signal.
  static func ending(_ body: @escaping @Sendable () async -> Int32) async -> Int32 { await run(body).status }

  private static func run(
    _ body: @escaping @Sendable () async -> Int32
  ) async -> (status: Int32, signal: Int32?) {
    let received = ReceivedSignal()
    // The sources are installed before the work begins, so that no signal is missed.
    let sources = [SIGINT, SIGTERM].map { source($0, received) }
    let task = Task { await body() }
    received.attach { task.cancel() }
    let status = await task.value
    for source in sources { source.cancel() }
    return (status, received.number)
  }

  private static func source(_ number: Int32, _ received: ReceivedSignal) -> any DispatchSourceSignal {
    // The default action is ignored, so that only the source handles the signal.
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler { received.receive(number) }
    source.activate()
    return source
  }
}

private final class ReceivedSignal: Sendable {
  private struct State {
    var number: Int32?
    var firstAt = ContinuousClock.now
    var cancel: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  var number: Int32? { state.withLock { $0.number } }

  /// Sets the action of the first signal, and performs it if the signal has already arrived.
  func attach(_ cancel: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      state.cancel = cancel
      return state.number != nil
    }
    if isLate { cancel() }
  }

  func receive(_ number: Int32) {
    let cancel: (@Sendable () -> Void)? = state.withLock { state in
      guard state.number != nil else {
        state.number = number
        state.firstAt = .now
        return state.cancel
      }
      // A wrapper forwards a signal that the whole process group also receives. Both count as one.
      if ContinuousClock.now - state.firstAt >= .seconds(1) { _exit(128 + number) }
      return nil
    }
    cancel?()
  }
}
