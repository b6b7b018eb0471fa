public import ReactorCore

extension AsyncSequence {
  /// Returns the states of this sequence with a placeholder for a value that is loading.
  ///
  /// ```swift
  /// let states = articles.states(for: "articles").placeholder(Article.samples)
  /// ```
  ///
  /// A state without a value shows the placeholder if its phase is `LoadState.Phase.loading`. Its
  /// `LoadState.isPlaceholder` is then `true`, so that a screen can show the value as redacted. A
  /// failure and a removal show no placeholder.
  ///
  /// A placeholder is neither stored nor stale, and has no origin and no date. Other operators do
  /// not take it for a value: `dependentStates(keepsPreviousValue:_:)` fetches nothing for it.
  /// Failure, end and cancellation are passed on. Runs on the caller's executor.
  ///
  /// - Parameter value: The placeholder.
  public func placeholder<Value>(_ value: Value) -> PlaceholderStates<Self, Value>
  where Element == LoadState<Value> {
    PlaceholderStates(base: self, placeholder: value)
  }
}

/// Load states with a placeholder; see ``_Concurrency/AsyncSequence/placeholder(_:)``.
public struct PlaceholderStates<Base: AsyncSequence, Value>: AsyncSequence where Base.Element == LoadState<Value> {
  public typealias Element = LoadState<Value>
  public typealias Failure = Base.Failure

  let base: Base
  let placeholder: Value
  private let valueRevision = ValueRevision.next()

  init(base: Base, placeholder: Value) {
    self.base = base
    self.placeholder = placeholder
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: base.makeAsyncIterator(), placeholder: placeholder, valueRevision: valueRevision)
  }

  /// An iterator that shows the placeholder while a first value loads.
  public struct Iterator: AsyncIteratorProtocol {
    var base: Base.AsyncIterator
    let placeholder: Value
    let valueRevision: UInt64

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Element? {
      guard var state = try await base.next(isolation: actor) else { return nil }
      if case .loading = state.phase {
        (state.value, state.valueRevision, state.isPlaceholder) = (placeholder, valueRevision, true)
        (state.origin, state.fetchedAt, state.isStale) = (nil, nil, false)
      }
      return state
    }
  }
}

extension PlaceholderStates: Sendable where Base: Sendable, Value: Sendable {}
