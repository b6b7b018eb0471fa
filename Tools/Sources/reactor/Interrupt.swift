import Dispatch
import Foundation
import Synchronization

/// Lets Ctrl-C (SIGINT) and SIGTERM end work in order.
enum Interrupt {
  /// Runs `body` in a task that the first signal cancels; a second one ends the process at once.
  ///
  /// - Returns: what `body` returned, or the exit status of a process that the signal ended (128 and its number).
  static func cancelling(_ body: @escaping @Sendable () async -> Int32) async -> Int32 {
    let received = ReceivedSignal()
    let task = Task { await body() }
    let sources = [SIGINT, SIGTERM].map { number in
      // Ignored, so that the source alone sees it.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        guard received.isFirst(number) else { _exit(128 + number) }
        task.cancel()
      }
      source.activate()
      return source
    }
    let status = await task.value
    for source in sources { source.cancel() }
    return received.number.map { 128 + $0 } ?? status
  }
}

private final class ReceivedSignal: Sendable {
  private let state = Mutex<Int32?>(nil)

  var number: Int32? { state.withLock { $0 } }

  func isFirst(_ number: Int32) -> Bool {
    state.withLock { state in
      defer { state = state ?? number }
      return state == nil
    }
  }
}
