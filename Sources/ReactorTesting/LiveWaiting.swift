public import Observation
public import ReactorCore
public import Testing

extension LiveResource {
  /// Returns once a state meets the condition, at once if the latest does.
  ///
  /// ```swift
  /// let model = SearchModel(api)
  /// await model.results.wait { $0.value?.count == 2 }
  /// ```
  ///
  /// It subscribes, as a view that reads the object does. A state that passes between two looks is
  /// not seen; the latest always is.
  ///
  /// If no state meets the condition in time, that is an issue, which shows the last state. The
  /// test continues. A cancelled wait returns at once, without an issue.
  ///
  /// - Parameters:
  ///   - timeLimit: The longest wait, in real time. Default: ten seconds.
  ///   - sourceLocation: The location of the issue.
  ///   - isMet: The condition. It may read other main-actor state too.
  /// - Returns: The state that met the condition, or the last one.
  @discardableResult
  public func wait(
    timeLimit: Duration = .seconds(10), sourceLocation: SourceLocation = #_sourceLocation,
    until isMet: (LoadState<Model>) -> Bool
  ) async -> LoadState<Model> {
    var last = state
    let end = await ObservedWait.run(timeLimit) {
      last = state
      return isMet(last)
    }
    if end == .outOfTime { WaitText.record(timeLimit, "the last state has \(StateText(last))", sourceLocation) }
    return last
  }
}

extension Observable where Self: AnyObject {
  /// Returns once the condition holds of an observable object, such as a view model; at once if it
  /// does.
  ///
  /// ```swift
  /// await model.waitUntil { $0.title == "Two results" }
  /// ```
  ///
  /// If it does not hold in time, that is an issue, which shows the properties of the object. The
  /// test continues. A cancelled wait returns at once, without an issue.
  ///
  /// - Parameters:
  ///   - timeLimit: The longest wait, in real time. Default: ten seconds.
  ///   - sourceLocation: The location of the issue.
  ///   - isMet: The condition.
  @MainActor
  public func waitUntil(
    timeLimit: Duration = .seconds(10), sourceLocation: SourceLocation = #_sourceLocation,
    _ isMet: (Self) -> Bool
  ) async {
    let end = await ObservedWait.run(timeLimit) { isMet(self) }
    if end == .outOfTime { WaitText.record(timeLimit, ObjectText(self).text, sourceLocation) }
  }
}

/// A wait for observable state.
@MainActor
enum ObservedWait {
  enum End { case met, outOfTime, cancelled }

  /// The interval at which the condition is checked without a reported change: an object without
  /// isolation reports a change on another thread, before making it.
  private static let pause = Duration.milliseconds(50)

  /// - Parameter observes: called before each observation, for a test.
  static func run(_ timeLimit: Duration, observes: () -> Void = {}, until isMet: () -> Bool) async -> End {
    let deadline = ContinuousClock.now + timeLimit
    var observation: Tally?
    while true {
      // An observation stays until a change is reported, so there is a new one only after that.
      if let reported = observation, reported.value > 0 { observation = nil }
      let changes = observation ?? Tally()
      let isDone: Bool
      if observation == nil {
        observes()
        isDone = withObservationTracking(isMet) { changes.add(1) }
      } else {
        isDone = isMet()
      }
      observation = changes
      if isDone { return .met }
      if Task.isCancelled { return .cancelled }
      let rest = deadline - .now
      guard rest > .zero else { return .outOfTime }
      // The report comes before the change. This actor's current job makes the change, and this
      // task continues after that job.
      await first(of: { try? await changes.wait(for: 1) }, { try? await Task.sleep(for: min(rest, pause)) })
    }
  }

  private static func first(of one: @escaping @Sendable () async -> Void, _ other: @escaping @Sendable () async -> Void)
    async
  {
    await withTaskGroup { group in
      group.addTask { await one() }
      group.addTask { await other() }
      await group.next()
      group.cancelAll()
    }
  }
}

extension LiveResource: StateShowing {
  var shownState: String { "\(StateText(state))" }
}

/// An object that shows its state in the text of a failed wait.
@MainActor protocol StateShowing {
  var shownState: String { get }
}

/// The properties of an object, one level deep.
@MainActor
private struct ObjectText {
  let text: String

  init(_ object: AnyObject) {
    let properties = Mirror(reflecting: object).children.compactMap { child -> String? in
      guard let label = child.label, !label.hasPrefix("_$") else { return nil }
      let name = label.hasPrefix("_") ? String(label.dropFirst()) : label
      let value = (child.value as? any StateShowing)?.shownState ?? WaitText.short(child.value)
      return "\(name): \(value)"
    }
    text =
      "the \(type(of: object)) has " + (properties.isEmpty ? "no properties" : properties.joined(separator: "; "))
  }
}
