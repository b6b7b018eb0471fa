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
@MainActor public final class StoreTest {
  private let dispatcher: Dispatcher
  private var changes: [StoreChanges] = []
  private var failures: [FluxError] = []

  /// Creates a test of a dispatcher.
  ///
  /// - Parameter dispatcher: The dispatcher under test. Its `Dispatcher.onFailure` is replaced
  ///   while this test is alive.
  public init(_ dispatcher: Dispatcher) {
    self.dispatcher = dispatcher
    dispatcher.observe(self) { [weak self] store, error in self?.emitted(store, error) }
    let report = dispatcher.onFailure
    dispatcher.onFailure = { [weak self] error in
      if let self { failures.append(error) } else { report(error) }
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

  private func check(
    _ what: String, _ location: SourceLocation, _ expect: (inout ExpectedChanges) -> Void, _ body: () -> Void
  ) {
    begin(location)
    body()
    compare(what, location, expect)
  }

  /// Checks that nothing has changed since the last dispatch. Call it at the end of a test.
  public func finish(sourceLocation: SourceLocation = #_sourceLocation) { begin(sourceLocation) }

  private func begin(_ location: SourceLocation) {
    compare("between dispatches", location) { _ in }
    forgetChanges()
  }

  private func forgetChanges() {
    changes = dispatcher.stores.map { StoreChanges($0) }
    failures = []
  }

  /// Records a change. A store that was registered since counts from its first change.
  private func emitted(_ store: any Store, _ error: (any Error)?) {
    let index = changes.firstIndex { $0.store === store }
    if index == nil { changes.append(StoreChanges(store)) }
    changes[index ?? changes.count - 1].emitted.append(error)
  }

  private func compare(_ what: String, _ location: SourceLocation, _ expect: (inout ExpectedChanges) -> Void) {
    var expected = ExpectedChanges()
    expect(&expected)
    for difference in expected.differences(changes, failures) {
      Issue.record("\(what): \(difference)", sourceLocation: location)
    }
    forgetChanges()
  }
}
