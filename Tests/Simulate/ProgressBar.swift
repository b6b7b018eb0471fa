import Foundation
import Synchronization

/// The progress of the seeds, on standard error, ten times a second at most; none without a
/// terminal.
final class ProgressBar: Sendable {
  private struct State {
    var done = 0
    var shown = ContinuousClock.now
  }

  private let total: Int
  private let began = ContinuousClock.now
  private let isShown = isatty(STDERR_FILENO) == 1
  private let state = Mutex(State())

  init(of total: Int) { self.total = max(1, total) }

  /// A second.
  var rate: Int { state.withLock { rate($0.done) } }

  func advance() {
    let done: Int? = state.withLock { state in
      state.done += 1
      guard state.shown.duration(to: .now) > .milliseconds(100) else { return nil }
      state.shown = .now
      return state.done
    }
    if let done, isShown { show(done) }
  }

  func clear() {
    guard isShown else { return }
    FileHandle.standardError.write(Data("\r\u{1B}[K".utf8))
  }

  private func show(_ done: Int) {
    let filled = 30 * done / total
    let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 30 - filled)
    FileHandle.standardError.write(Data("\r\(bar) \(done) of \(total), \(rate(done)) a second\u{1B}[K".utf8))
  }

  private func rate(_ done: Int) -> Int { Int(Double(done) / max(0.001, began.duration(to: .now) / .seconds(1))) }
}
