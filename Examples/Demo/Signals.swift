import Dispatch
import Foundation
import Synchronization

/// The signals that end the demo in order: Ctrl-C (SIGINT) and SIGTERM.
final class Signals: Sendable {
  private let number = Mutex<Int32?>(nil)

  /// The signal that was received, or `nil`.
  var received: Int32? { number.withLock { $0 } }

  /// Waits for the end of `task`, which a signal cancels.
  func cancelling(_ task: Task<Void, any Error>) async -> Result<Void, any Error> {
    let sources = [SIGINT, SIGTERM].map { number in
      // The default action is ignored, so that only the source handles the signal.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        self.number.withLock { $0 = number }
        task.cancel()
      }
      source.activate()
      return source
    }
    defer { for source in sources { source.cancel() } }
    return await task.result
  }
}
