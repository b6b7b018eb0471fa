public import ReactorFlux

/// The expected changes of an action. See ``StoreTest``.
@MainActor public struct ExpectedChanges {
  private struct Expectation {
    let store: any Store.Type
    let fails: Bool
    /// A check that describes how the store differs from the expectation; `nil` if it does not.
    let check: @MainActor (StoreChanges) -> String?
  }

  /// An action that is expected to reach the stores.
  private struct ExpectedAction {
    let name: String
    let isAsExpected: @MainActor (AnyAction) -> Bool
  }

  private let exhaustivity: StoreTest.Exhaustivity
  private var expectations: [Expectation] = []
  private var actions: [ExpectedAction] = []
  private var failures: [(FluxError) -> Bool] = []

  init(_ exhaustivity: StoreTest.Exhaustivity) { self.exhaustivity = exhaustivity }

  /// Expects that the store emits a change without an error.
  ///
  /// ```swift
  /// test.dispatch(loggedIn, user) { $0.changes(Session.self, where: { $0.user == user }) }
  /// ```
  ///
  /// - Parameters:
  ///   - store: The type of the store.
  ///   - isAsExpected: A condition that must hold for the store afterwards.
  public mutating func changes<S: Store>(
    _ store: S.Type, where isAsExpected: @escaping @MainActor (S) -> Bool = { _ in true }
  ) {
    expect(S.self, fails: false, isAsExpected)
  }

  /// Expects that the store emits a change without an error, and that its snapshot is the one
  /// before, changed by `change`.
  ///
  /// With ``StoreTest/Exhaustivity/off``, only the fields count that `change` sets. It is then also
  /// called with the snapshot afterwards, which it must leave equal: write `$0.count = 2`, and not
  /// `$0.count += 1`.
  public mutating func changes<S: Snapshotting>(
    _ store: S.Type, _ change: @escaping @MainActor (inout S.Snapshot) -> Void
  ) where S.Snapshot: Equatable {
    expectations.append(
      Expectation(store: S.self, fails: false) { [exhaustivity] changes in
        guard var expected = changes.before as? S.Snapshot, let store = changes.store as? S else { return nil }
        change(&expected)
        let actual = store.snapshot
        if exhaustivity == .off, actual != expected {
          expected = actual
          change(&expected)
        }
        return actual == expected ? nil : "has the snapshot \(actual), but \(expected) was expected"
      })
  }

  /// Expects that the store emits a change with an error.
  ///
  /// ```swift
  /// test.dispatch(loggedIn, error: URLError(.timedOut)) { $0.fails(Session.self) }
  /// ```
  ///
  /// - Parameters:
  ///   - store: The type of the store.
  ///   - isAsExpected: A condition that must hold for the store afterwards.
  public mutating func fails<S: Store>(
    _ store: S.Type, where isAsExpected: @escaping @MainActor (S) -> Bool = { _ in true }
  ) {
    expect(S.self, fails: true, isAsExpected)
  }

  /// Expects that the dispatcher reports a failure for which `isAsExpected` holds.
  public mutating func reports(_ isAsExpected: @escaping (FluxError) -> Bool) { failures.append(isAsExpected) }

  /// Expects that an action of this event reaches the stores, after the actions that were expected
  /// before.
  ///
  /// ```swift
  /// test.dispatch(.opened) { $0.receives(.loaded, where: { $0.payload == user }) }
  /// ```
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - isAsExpected: A condition that must hold for the action.
  public mutating func receives<Payload>(
    _ event: Event<Payload>, where isAsExpected: @escaping @MainActor (Action<Payload>) -> Bool = { _ in true }
  ) {
    actions.append(ExpectedAction(name: event.name) { $0.action(of: event).map(isAsExpected) ?? false })
  }

  private mutating func expect<S: Store>(
    _ store: S.Type, fails: Bool, _ isAsExpected: @escaping @MainActor (S) -> Bool
  ) {
    expectations.append(
      Expectation(store: S.self, fails: fails) { changes in
        guard let store = changes.store as? S, !isAsExpected(store) else { return nil }
        return "changed, but does not meet its `where` condition"
      })
  }
}

extension ExpectedChanges {
  /// Returns a sentence for each difference from the expectation.
  func differences(_ stores: [StoreChanges], received: [AnyAction], reported: [FluxError]) -> [String] {
    var rest = stores
    var differences: [String] = []
    for expectation in expectations {
      guard let index = rest.firstIndex(where: { type(of: $0.store) == expectation.store }) else {
        differences.append(
          "\(expectation.store) is expected to change, but is not registered or is expected twice; register it, or expect it once"
        )
        continue
      }
      let changes = rest.remove(at: index)
      differences += changes.differences(fails: expectation.fails, check: expectation.check)
    }
    if exhaustivity == .on {
      differences += rest.filter(\.hasChanged).map {
        "\(type(of: $0.store)) changed, which was not expected\($0.details)"
      }
    }
    return differences + self.differences(received) + self.differences(reported)
  }

  private func differences(_ received: [AnyAction]) -> [String] {
    var rest = received[...]
    return actions.compactMap { expected in
      guard let index = rest.firstIndex(where: expected.isAsExpected) else {
        let names = rest.map { "\"\($0.name)\"" }.joined(separator: ", ")
        return "the action \"\(expected.name)\" was expected, but the stores received "
          + (names.isEmpty ? "nothing" : names)
      }
      rest = rest[(index + 1)...]
      return nil
    }
  }

  private func differences(_ reported: [FluxError]) -> [String] {
    var rest = reported
    var missing = 0
    for isAsExpected in failures {
      if let index = rest.firstIndex(where: isAsExpected) { rest.remove(at: index) } else { missing += 1 }
    }
    return (exhaustivity == .on ? rest : []).map { "an unexpected error was reported: \($0)" }
      + Array(repeating: "an expected failure was not reported", count: missing)
  }
}
