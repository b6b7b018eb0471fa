public import ReactorFlux
public import Testing

/// Asserts exactly which stores an action changes, and how. An unexpected change is an issue too.
///
/// ```swift
/// let test = StoreTest(dispatcher)
/// test.dispatch(.signedIn, user) {
///   $0.changes(Session.self) { $0.user = user }
/// }
/// test.dispatch(.signedOut) { $0.changes(Session.self) { $0.user = nil } }
/// ```
///
/// A store counts as changed if it emitted at least one change. A `Snapshotting` store with an
/// `Equatable` snapshot also counts as changed if its snapshot differs.
///
/// A failure that the dispatcher reports is an issue, unless it is expected. A change between two
/// dispatches, for example by a posted action, is an issue of the later dispatch, or of
/// ``finish(sourceLocation:)``.
///
/// A test of one part of a large app names that part, and ignores the rest:
///
/// ```swift
/// let test = StoreTest(dispatcher, exhaustivity: .off)
/// test.dispatch(.signedIn, user) {
///   $0.changes(Session.self) { $0.user = user }
///   $0.receives(.profileOpened)
/// }
/// ```
@MainActor public final class StoreTest {
  /// The extent of what a test checks.
  public enum Exhaustivity: Sendable {
    /// Everything: whatever is not expected must not happen.
    case on
    /// Only what is named: the stores, the fields that an expectation sets, the actions and the
    /// failures. Other changes, fields and failures, and effects that are still running, are
    /// ignored.
    case off
  }

  /// The extent of what is checked from now on.
  public var exhaustivity: Exhaustivity
  private let dispatcher: Dispatcher
  private var changes: [StoreChanges] = []
  private var actions: [AnyAction] = []
  private var failures: [FluxError] = []

  /// Creates a test of a dispatcher. Create it once the dispatcher has its middlewares, so that it
  /// sees the actions as the stores receive them.
  ///
  /// - Parameters:
  ///   - dispatcher: The dispatcher under test. Its `Dispatcher.onFailure` is replaced while this
  ///     test is alive.
  ///   - exhaustivity: The extent of what is checked. Default: everything.
  public init(_ dispatcher: Dispatcher, exhaustivity: Exhaustivity = .on) {
    self.dispatcher = dispatcher
    self.exhaustivity = exhaustivity
    dispatcher.observe(self) { [weak self] store, error in self?.emitted(store, error) }
    let report = dispatcher.onFailure
    dispatcher.onFailure = { [weak self] error in
      if let self { failures.append(error) } else { report(error) }
    }
    dispatcher.use { [weak self] action, next in
      self?.actions.append(action)
      next(action)
    }
    forgetChanges()
  }

  /// Dispatches an action, and compares all changes with the expectation. Without an expectation,
  /// nothing may change.
  ///
  /// - Parameters:
  ///   - action: The action to dispatch.
  ///   - sourceLocation: The location of the issues.
  ///   - expect: A closure that declares the expected changes.
  public func dispatch<Payload>(
    _ action: Action<Payload>, sourceLocation: SourceLocation = #_sourceLocation,
    _ expect: (inout ExpectedChanges) -> Void = { _ in }
  ) {
    check("\"\(action.event.name)\"", sourceLocation, expect) { dispatcher.dispatch(action) }
  }

  /// Dispatches an event with a payload, and compares all changes with the expectation. Without an
  /// expectation, nothing may change.
  public func dispatch<Payload>(
    _ event: Event<Payload>, _ payload: Payload, sourceLocation: SourceLocation = #_sourceLocation,
    _ expect: (inout ExpectedChanges) -> Void = { _ in }
  ) {
    dispatch(Action(event, payload), sourceLocation: sourceLocation, expect)
  }

  /// Dispatches an event without a payload, and compares all changes with the expectation. Without
  /// an expectation, nothing may change.
  public func dispatch(
    _ event: Event<Void>, sourceLocation: SourceLocation = #_sourceLocation,
    _ expect: (inout ExpectedChanges) -> Void = { _ in }
  ) {
    dispatch(Action(event, ()), sourceLocation: sourceLocation, expect)
  }

  /// Dispatches an event with an error, and compares all changes with the expectation. Without an
  /// expectation, nothing may change.
  public func dispatch<Payload>(
    _ event: Event<Payload>, error: any Error, sourceLocation: SourceLocation = #_sourceLocation,
    _ expect: (inout ExpectedChanges) -> Void = { _ in }
  ) {
    dispatch(Action(event, error: error), sourceLocation: sourceLocation, expect)
  }

  /// Runs an effect to its end, as `Dispatcher.dispatch(_:from:)` does, and compares the changes of
  /// its action with the expectation.
  public func dispatch<Payload>(
    _ event: Event<Payload>, sourceLocation: SourceLocation = #_sourceLocation,
    from effect: @Sendable () async throws -> Payload, expect: (inout ExpectedChanges) -> Void = { _ in }
  ) async {
    begin(sourceLocation)
    await dispatcher.dispatch(event, from: effect)
    compare("\"\(event.name)\"", sourceLocation, expect)
  }

  /// Waits until no effect is running (`Dispatcher.start(_:id:from:)`), and compares the changes of
  /// their actions with the expectation.
  ///
  /// ```swift
  /// test.dispatch(.typed, "swift") { $0.changes(Search.self) { $0.isRunning = true } }
  /// await test.effects { $0.changes(Search.self, where: { $0.results.count == 1 }) }
  /// ```
  public func effects(
    sourceLocation: SourceLocation = #_sourceLocation, _ expect: (inout ExpectedChanges) -> Void = { _ in }
  ) async {
    await dispatcher.effectsSettled()
    compare("of the effects", sourceLocation, expect)
  }

  private func check(
    _ what: String, _ location: SourceLocation, _ expect: (inout ExpectedChanges) -> Void, _ body: () -> Void
  ) {
    begin(location)
    body()
    compare(what, location, expect)
  }

  /// Checks that nothing has changed since the last dispatch, and that no effect is running. Call
  /// it at the end of a test.
  public func finish(sourceLocation: SourceLocation = #_sourceLocation) {
    begin(sourceLocation)
    let running = dispatcher.runningEffects
    guard exhaustivity == .on, running > 0 else { return }
    Issue.record(
      "\(running) of the effects that were started are still running; wait for them with effects(_:), or cancel them",
      sourceLocation: sourceLocation)
  }

  private func begin(_ location: SourceLocation) {
    compare("between dispatches", location) { _ in }
    forgetChanges()
  }

  private func forgetChanges() {
    changes = dispatcher.stores.map { StoreChanges($0) }
    actions = []
    failures = []
  }

  /// Records a change. A store that was registered since counts from its first change.
  private func emitted(_ store: any Store, _ error: (any Error)?) {
    let index = changes.firstIndex { $0.store === store }
    if index == nil { changes.append(StoreChanges(store)) }
    changes[index ?? changes.count - 1].emitted.append(error)
  }

  private func compare(_ what: String, _ location: SourceLocation, _ expect: (inout ExpectedChanges) -> Void) {
    var expected = ExpectedChanges(exhaustivity)
    expect(&expected)
    for difference in expected.differences(changes, received: actions, reported: failures) {
      Issue.record("\(what): \(difference)", sourceLocation: location)
    }
    forgetChanges()
  }
}
