import Synchronization

/// Reports progress to a closure, in order and one call at a time, and not after the work has
/// ended. While the closure runs, changes are collected, and the latest state is reported next.
///
/// - ``reporting(_:bodySize:_:)`` is for one call of a ``Transport``: its reports never go back
///   over redirects.
/// - ``steps(to:_:)`` is for one request of a program, over all its attempts: at most one report
///   for each hundredth and stage.
package final class TransferReport: Sendable {
  private struct State {
    var progress: TransferProgress
    /// The latest progress that the closure got.
    var reported: TransferProgress?
    /// A Boolean value that indicates whether the closure runs, on the thread whose change came
    /// first.
    var isReporting = false
    var isOver = false
    /// The wait of ``end()`` for the closure; `nil` if ``end()`` does not wait.
    var ending: OneShot<Void>?
  }

  private let state: Mutex<State>
  private let report: @Sendable (TransferProgress) -> Void
  /// Returns a Boolean value that indicates whether a progress is reported after another one.
  private let isDue: @Sendable (_ progress: TransferProgress, _ reported: TransferProgress?) -> Bool

  private init(
    toSend: Int = 0, _ report: @escaping @Sendable (TransferProgress) -> Void,
    isDue: @escaping @Sendable (TransferProgress, TransferProgress?) -> Bool
  ) {
    state = Mutex(State(progress: TransferProgress(toSend: Int64(toSend))))
    self.report = report
    self.isDue = isDue
  }

  /// Runs `work`, and reports to `closure` what `work` reports, at most once for each hundredth and
  /// stage.
  package static func steps<Value, Failure: Error>(
    to closure: @escaping @Sendable (TransferProgress) -> Void,
    _ work: (@escaping @Sendable (TransferProgress) -> Void) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let report = TransferReport(closure) { $0.isStep(after: $1) }
    do {
      let value = try await work { progress in report.change { $0 = progress } }
      await report.end()
      return value
    } catch {
      await report.end()
      throw error
    }
  }

  /// Runs `work` and reports its progress to `progress`. At the end of a success, the last report
  /// says that everything was received.
  package static func reporting<Value: Sendable>(
    _ progress: @escaping @Sendable (TransferProgress) -> Void, bodySize: Int,
    _ work: (TransferReport) async throws -> Value
  ) async throws -> Value {
    let report = TransferReport(toSend: bodySize, progress) { $0 != $1 }
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
      body(&state.progress)
      guard !state.isReporting, isDue(state.progress, state.reported) else { return false }
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
      if isDue(state.progress, state.reported) {
        state.reported = state.progress
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

extension TransferProgress {
  /// Returns whether the stage is another one than in `other`, or the fraction another hundredth.
  fileprivate func isStep(after other: TransferProgress?) -> Bool {
    guard let other else { return true }
    return stage != other.stage || Int(fractionCompleted * 100) != Int(other.fractionCompleted * 100)
  }
}
