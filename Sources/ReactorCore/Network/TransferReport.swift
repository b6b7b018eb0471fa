import Synchronization

/// Reports the progress of one call to its caller. Reports come in order and one at a time, and
/// never go back over redirects. None comes after the call has returned. For implementations of
/// ``Transport``.
package final class TransferReport: Sendable {
  private struct State {
    var progress: TransferProgress
    /// A Boolean value that indicates whether the caller's closure runs, on the thread whose change
    /// came first.
    var isReporting = false
    var hasChanged = true
    var isOver = false
    /// The wait of ``end()`` for the closure; `nil` if ``end()`` does not wait.
    var ending: OneShot<Void>?
  }

  private let state: Mutex<State>
  private let report: @Sendable (TransferProgress) -> Void

  private init(bodySize: Int, _ report: @escaping @Sendable (TransferProgress) -> Void) {
    state = Mutex(State(progress: TransferProgress(toSend: Int64(bodySize))))
    self.report = report
  }

  /// Runs `work` and reports its progress to `progress`. At the end of a success, the last report
  /// says that everything was received.
  package static func reporting<Value: Sendable>(
    _ progress: @escaping @Sendable (TransferProgress) -> Void, bodySize: Int,
    _ work: (TransferReport) async throws -> Value
  ) async throws -> Value {
    let report = TransferReport(bodySize: bodySize, progress)
    do {
      report.change { $0.stage = bodySize > 0 ? .connecting : .waiting }
      let value = try await work(report)
      report.change { progress in
        progress.stage = .receiving
        progress.expected = progress.received
      }
      await report.end()
      return value
    } catch {
      await report.end()
      throw error
    }
  }

  /// Reports the number of bytes of the request's body that the connection has accepted.
  package func sent(_ count: Int64) {
    change { progress in
      progress.sent = max(progress.sent, count)
      progress.stage = max(progress.stage, progress.sent >= progress.toSend ? .waiting : .sending)
    }
  }

  /// Reports the beginning of the response, with the announced size of its body if there is one.
  package func answered(expected: Int?) {
    change { progress in
      progress.stage = .receiving
      progress.expected = expected.map(Int64.init)
    }
  }

  /// Reports the number of bytes of the response's body that were received.
  package func received(_ count: Int) {
    change { $0.received = max($0.received, Int64(count)) }
  }

  private func change(_ body: (inout TransferProgress) -> Void) {
    let isMine = state.withLock { state in
      guard !state.isOver else { return false }
      let before = state.progress
      body(&state.progress)
      state.hasChanged = state.hasChanged || state.progress != before
      guard state.hasChanged, !state.isReporting else { return false }
      state.isReporting = true
      return true
    }
    if isMine { reportAll() }
  }

  /// Calls the caller's closure without the lock, and again if something has changed meanwhile.
  private func reportAll() {
    while let progress = next() { report(progress) }
  }

  private func next() -> TransferProgress? {
    let (progress, ending) = state.withLock { state -> (TransferProgress?, OneShot<Void>?) in
      if state.hasChanged {
        state.hasChanged = false
        return (state.progress, nil)
      }
      state.isReporting = false
      defer { state.ending = nil }
      return (nil, state.ending)
    }
    ending?.settle(())
    return progress
  }

  /// Returns once the caller's closure has ended and will not be called again.
  private func end() async {
    let ending = state.withLock { state -> OneShot<Void>? in
      state.isOver = true
      if state.isReporting { state.ending = OneShot() }
      return state.ending
    }
    await ending?.value
  }
}
