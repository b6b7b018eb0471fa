import Foundation
import HTTPTypes
import ReactorCore
import Synchronization

/// The progress of a fetch in one terminal line. It appears after a second, is overwritten with
/// each report, and is erased at the end.
final class ProgressLine: Sendable {
  private struct State {
    var progress = TransferProgress()
    var isShown = false
  }

  private let state = Mutex(State())
  private let clock: any Clock<Duration>
  private let write: @Sendable (String) -> Void

  /// Creates a line.
  ///
  /// - Parameters:
  ///   - clock: The clock that measures the second.
  ///   - write: A closure that writes to the terminal.
  init(clock: any Clock<Duration>, write: @escaping @Sendable (String) -> Void) {
    self.clock = clock
    self.write = write
  }

  /// Returns a line on standard error, or `nil` if that is not a terminal.
  static func onTerminal() -> ProgressLine? {
    guard isatty(STDERR_FILENO) == 1 else { return nil }
    return ProgressLine(clock: ContinuousClock()) { try? StandardStream.error.write(Data($0.utf8)) }
  }

  /// Runs `work`, and shows the line meanwhile.
  func during<Value: Sendable>(_ work: () async -> Value) async -> Value {
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        // The sleep is cancelled if the work ends within the second.
        if (try? await self.clock.sleep(for: .seconds(1))) != nil { self.appear() }
      }
      let value = await work()
      group.cancelAll()
      await group.waitForAll()
      if state.withLock(\.isShown) { write(Self.erase) }
      return value
    }
  }

  func show(_ progress: TransferProgress) {
    let isShown = state.withLock { state in
      state.progress = progress
      return state.isShown
    }
    if isShown { write(Self.erase + Self.text(progress)) }
  }

  /// Shows the line. It may overwrite a newer text of a concurrent ``show(_:)``, until the next
  /// report.
  private func appear() {
    let progress = state.withLock { state in
      state.isShown = true
      return state.progress
    }
    write(Self.erase + Self.text(progress))
  }

  static func text(_ progress: TransferProgress) -> String {
    let percent = "\(Int(progress.fractionCompleted * 100)) %, "
    return switch progress.stage {
    case .connecting: percent + "connecting"
    case .sending: percent + "sending \(size(progress.sent)) of \(size(progress.toSend))"
    case .waiting: percent + "waiting for the answer"
    case .receiving:
      percent + "receiving \(size(progress.received))" + (progress.expected.map { " of \(size($0))" } ?? "")
    }
  }

  private static func size(_ bytes: Int64) -> String {
    bytes < 1_000_000 ? "\(bytes / 1_000) kB" : "\(bytes / 1_000_000).\(bytes / 100_000 % 10) MB"
  }

  /// Moves to the start of the line, and erases it (ECMA-48 §8.3.41).
  private static let erase = "\r\u{1B}[K"
}

/// A transport that shows its progress in a line.
struct WatchedTransport: Transport {
  let transport: any Transport
  let line: ProgressLine

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try await transport.send(request, body: body) { transferred in
      line.show(transferred)
      progress(transferred)
    }
  }
}
