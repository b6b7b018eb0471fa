import Dispatch
import Foundation
import Synchronization

/// Lets Ctrl-C (SIGINT) and SIGTERM end work in order.
enum Interrupt {
  /// Runs `body` in a task that the first signal cancels; another, a second later or more, ends the process at once.
  ///
  /// - Returns: what `body` returned, or the exit status of a process that the signal ended (128 and its number).
  static func cancelling(_ body: @escaping @Sendable () async -> Int32) async -> Int32 {
    let (status, signal) = await run(body)
    return signal.map { 128 + $0 } ?? status
  }

  /// The same for work that only a signal ends: its own status is returned.
  static func ending(_ body: @escaping @Sendable () async -> Int32) async -> Int32 { await run(body).status }

  private static func run(
    _ body: @escaping @Sendable () async -> Int32
  ) async -> (status: Int32, signal: Int32?) {
    let received = ReceivedSignal()
    // Before the work begins, so that no signal finds it unguarded.
    let sources = [SIGINT, SIGTERM].map { source($0, received) }
    let task = Task { await body() }
    received.attach { task.cancel() }
    let status = await task.value
    for source in sources { source.cancel() }
    return (status, received.number)
  }

  private static func source(_ number: Int32, _ received: ReceivedSignal) -> any DispatchSourceSignal {
    // Ignored, so that the source alone sees it.
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

  /// Sets what the first signal does; it may have come already.
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
      // A wrapper sends its child a signal that the whole process group gets too: that is one, not two.
      if ContinuousClock.now - state.firstAt >= .seconds(1) { _exit(128 + number) }
      return nil
    }
    cancel?()
  }
}
