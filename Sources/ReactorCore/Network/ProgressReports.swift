import Synchronization

/// Reports the progress of one call of a program, over all its attempts: in order, one at a time,
/// at most once for each hundredth and stage, and not after the call has ended.
final class ProgressReports: Sendable {
  private struct State {
    var latest: TransferProgress?
    var isReporting = false
    var isOver = false
    /// The wait of ``end()`` for the closure; `nil` if there is none.
    var ending: OneShot<Void>?
  }

  private let state = Mutex(State())
  private let closure: @Sendable (TransferProgress) -> Void

  private init(_ closure: @escaping @Sendable (TransferProgress) -> Void) { self.closure = closure }

  /// Runs `work`, and reports to `closure` what `work` reports.
  static func reporting<Value>(
    to closure: @escaping @Sendable (TransferProgress) -> Void,
    _ work: (@escaping @Sendable (TransferProgress) -> Void) async throws(ReactorError) -> Value
  ) async throws(ReactorError) -> Value {
    let reports = ProgressReports(closure)
    do {
      let value = try await work { reports.report($0) }
      await reports.end()
      return value
    } catch {
      await reports.end()
      throw error
    }
  }

  private func report(_ progress: TransferProgress) {
    let begins = state.withLock { state in
      guard !state.isOver, !state.isReporting, progress.isStep(after: state.latest) else { return false }
      state.latest = progress
      state.isReporting = true
      return true
    }
    guard begins else { return }
    closure(progress)
    state.withLock { state -> OneShot<Void>? in
      state.isReporting = false
      return state.ending
    }?.settle(())
  }

  /// Returns once the closure has ended and will not be called again: a cancelled caller does not
  /// wait for its transport.
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
