public import ReactorFlux
public import Testing

/// Asserts exactly which stores an action changes, and how. What changes and is not expected is an issue too.
///
/// ```swift
/// let test = StoreTest(dispatcher)
/// test.dispatch(.signedIn, user) {
///   $0.changes(Session.self) { $0.user = user }
/// }
/// test.dispatch(.signedOut) { $0.changes(Session.self) { $0.user = nil } }
/// ```
///
/// A store is changed when it has emitted a change, once or often, and, where it is `Snapshotting` with an `Equatable` snapshot,
/// when that is another than before. Failures that the dispatcher reports meanwhile are issues, unless they are expected. What changes between
/// two dispatches, as by a post, is an issue of the later, or of ``finish(sourceLocation:)``.
@MainActor public final class StoreTest {
  private let dispatcher: Dispatcher
  private var changes: [StoreChanges] = []
  private var failures: [FluxError] = []

  /// - Parameter dispatcher: its `Dispatcher.onFailure` is replaced as long as this lives.
  public init(_ dispatcher: Dispatcher) {
    self.dispatcher = dispatcher
    dispatcher.observe(self) { [weak self] store, error in self?.emitted(store, error) }
    let report = dispatcher.onFailure
    dispatcher.onFailure = { [weak self] error in
      if let self { failures.append(error) } else { report(error) }
    }
    forgetChanges()
  }

  /// Dispatches, with all that it leads to, and compares what has changed with what `expect` says. Nothing said: nothing may change.
  public func dispatch<Payload>(
    _ action: Action<Payload>, sourceLocation: SourceLocation = #_sourceLocation,
    _ expect: (inout ExpectedChanges) -> Void = { _ in }
  ) {
    check("\"\(action.event.name)\"", sourceLocation, expect) { dispatcher.dispatch(action) }
  }

  public func dispatch<Payload>(
    _ event: Event<Payload>, _ payload: Payload, sourceLocation: SourceLocation = #_sourceLocation,
    _ expect: (inout ExpectedChanges) -> Void = { _ in }
  ) {
    dispatch(Action(event, payload), sourceLocation: sourceLocation, expect)
  }

  public func dispatch(
    _ event: Event<Void>, sourceLocation: SourceLocation = #_sourceLocation,
    _ expect: (inout ExpectedChanges) -> Void = { _ in }
  ) {
    dispatch(Action(event, ()), sourceLocation: sourceLocation, expect)
  }

  public func dispatch<Payload>(
    _ event: Event<Payload>, error: any Error, sourceLocation: SourceLocation = #_sourceLocation,
    _ expect: (inout ExpectedChanges) -> Void = { _ in }
  ) {
    dispatch(Action(event, error: error), sourceLocation: sourceLocation, expect)
  }

  /// Runs an effect to its end, as `Dispatcher.dispatch(_:from:)` does, and compares what its one action has changed.
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

  /// Proves that nothing has changed since the last dispatch: the last line of a test.
  public func finish(sourceLocation: SourceLocation = #_sourceLocation) { begin(sourceLocation) }

  private func begin(_ location: SourceLocation) {
    compare("between dispatches", location) { _ in }
    forgetChanges()
  }

  private func forgetChanges() {
    changes = dispatcher.stores.map { StoreChanges($0) }
    failures = []
  }

  /// A store that was registered meanwhile counts from its first change.
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
