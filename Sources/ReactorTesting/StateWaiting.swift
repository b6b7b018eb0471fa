public import ReactorCore
public import Testing

extension AsyncSequence where Self: Sendable, Failure == Never {
  /// Returns once a state of the sequence meets the condition.
  ///
  /// ```swift
  /// await stories.states(for: "stories").wait { $0.value?.count == 2 }
  /// ```
  ///
  /// Each call iterates the sequence again and ends with its iteration. For several waits on one
  /// subscription, make a `LiveResource` of the sequence.
  ///
  /// The limit holds for any sequence. If a sequence ignores cancellation, its iteration continues
  /// after the limit, until it yields or ends.
  ///
  /// If no state meets the condition in time, or the sequence ends before, that is an issue, which
  /// shows the last state. The test continues. A cancelled wait returns at once, without an issue.
  ///
  /// - Parameters:
  ///   - timeLimit: The longest wait, in real time. Default: ten seconds.
  ///   - sourceLocation: The location of the issue.
  ///   - isMet: The condition. Called on the global executor.
  /// - Returns: The state that met the condition, or the last one; `nil` if none came.
  @discardableResult
  public func wait<Value: Sendable>(
    timeLimit: Duration = .seconds(10), sourceLocation: SourceLocation = #_sourceLocation,
    until isMet: @escaping @Sendable (LoadState<Value>) -> Bool
  ) async -> LoadState<Value>? where Element == LoadState<Value> {
    let last = Shared<LoadState<Value>?>(nil)
    let end = await StateWait.run(timeLimit) { isOver in
      for await state in self {
        guard !isOver() else { return .streamEnded }
        last.change { $0 = state }
        if isMet(state) { return .met }
      }
      return .streamEnded
    }
    guard end != .met, !Task.isCancelled else { return last.value }
    let text = last.value.map { "the last state has \(StateText($0))" } ?? "there was no state"
    if end == .streamEnded {
      Issue.record("the states ended before one met the condition; \(text)", sourceLocation: sourceLocation)
    } else {
      WaitText.record(timeLimit, text, sourceLocation)
    }
    return last.value
  }
}

/// A wait for an iteration. The iteration has a task that the wait can leave behind: a child task
/// of a group would hold the group until the sequence yields.
private enum StateWait {
  enum End: Sendable { case met, outOfTime, streamEnded }

  /// The time that a cancelled iteration has for its end, so that its subscription is over when the
  /// wait returns.
  private static let grace = Duration.milliseconds(200)

  /// - Parameter body: the iteration. Its argument returns `true` once the wait has its end.
  static func run(
    _ timeLimit: Duration, _ body: @escaping @Sendable @concurrent (_ isOver: @Sendable () -> Bool) async -> End
  ) async -> End {
    let (end, reading) = (OneShot<End>(), OneShot<Void>())
    let reader = spawn(on: nil, priority: Task.currentPriority) {
      end.settle(await body { end.isSettled })
      reading.settle(())
    }
    let timer = timer(timeLimit) { end.settle(.outOfTime) }
    let result = await withTaskCancellationHandler {
      await end.value
    } onCancel: {
      end.settle(.streamEnded)
    }
    timer.cancel()
    reader.cancel()
    let patience = Self.timer(grace) { reading.settle(()) }
    await reading.value
    patience.cancel()
    return result
  }

  private static func timer(_ time: Duration, _ body: @escaping @Sendable () -> Void) -> Task<Void, Never> {
    spawn(on: nil) { if (try? await Task.sleep(for: time)) != nil { body() } }
  }
}

/// A state in the text of a failed wait.
struct StateText: CustomStringConvertible {
  let description: String

  init<Value>(_ state: LoadState<Value>) {
    var parts: [String] = []
    if let value = state.value {
      let source = state.origin.map { ", from \($0)" } ?? ""
      let kind = (state.isPlaceholder ? " (placeholder)" : "") + (state.isStale ? " (stale)" : "")
      parts.append("the value \(WaitText.short(value))\(kind)\(source)")
    } else {
      parts.append(state.isRemoved ? "no value, since it was removed" : "no value")
    }
    parts.append(state.error.map { "the error \"\($0)\"" } ?? "no error")
    parts.append("the fetch status \(state.fetchStatus)")
    description = parts.joined(separator: ", ")
  }
}

/// The words of a failed wait.
enum WaitText {
  private static let longest = 300

  /// Returns the description of a value, cut after 300 characters.
  static func short(_ value: Any) -> String {
    let text = String(describing: value)
    return text.count > longest ? text.prefix(longest) + "…" : text
  }

  static func record(_ timeLimit: Duration, _ text: String, _ sourceLocation: SourceLocation) {
    Issue.record("the condition was not met within \(timeLimit); \(text)", sourceLocation: sourceLocation)
  }
}
