public import ReactorCore

extension AsyncSequence {
  /// Returns a sequence that, instead of failing, yields `replacement`, if there is one, and ends.
  ///
  /// ```swift
  /// for await list in stories.fetches("stories").ignoringErrors(replacement: []) { show(list) }
  /// ```
  ///
  /// A cancelled task gets no replacement: if this sequence then throws, the result ends. Runs on
  /// the caller's executor.
  ///
  /// - Parameter replacement: The last element after a failure; `nil` for none. If elements are
  ///   optional, `.some(nil)` replaces the error with `nil`.
  public func ignoringErrors(replacement: Element? = nil) -> IgnoringErrors<Self> {
    IgnoringErrors(base: self, replacement: replacement)
  }
}

/// A sequence that ends when another fails; see
/// ``_Concurrency/AsyncSequence/ignoringErrors(replacement:)``.
public struct IgnoringErrors<Base: AsyncSequence>: AsyncSequence {
  public typealias Element = Base.Element
  public typealias Failure = Never

  let base: Base
  let replacement: Base.Element?

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: base.makeAsyncIterator(), replacement: replacement)
  }

  /// An iterator that ends at the first error.
  public struct Iterator: AsyncIteratorProtocol {
    /// The base iterator; `nil` after the end.
    var base: Base.AsyncIterator?
    let replacement: Base.Element?

    public mutating func next(isolation actor: isolated (any Actor)?) async -> Base.Element? {
      do {
        if let element = try await base?.next(isolation: actor) { return element }
        base = nil
        return nil
      } catch {
        base = nil
        return Task.isCancelled ? nil : replacement
      }
    }
  }
}

extension IgnoringErrors: Sendable where Base: Sendable, Base.Element: Sendable {}

extension AsyncSequence {
  /// Returns the states of this sequence that matter to a screen that keeps its last value: after
  /// the first value, without reloads and failures.
  ///
  /// ```swift
  /// let states = stories.states(for: "stories").ignoringLoadingAndFailuresAfterSuccess()
  /// for await state in states { show(state.value ?? []) }
  /// ```
  ///
  /// A screen then keeps the last good value and does not flicker. After the first value, a state
  /// passes if it has a value and is neither loading nor failed, or if its value is new, by
  /// `LoadState.valueRevision`.
  ///
  /// A placeholder is not the first value. After the first value, it is treated as a reload.
  ///
  /// A state that is idle with neither value nor error says that the value was removed. It passes,
  /// and the states after it are treated as before the first value. Failure, end and cancellation
  /// are passed on. Runs on the caller's executor.
  public func ignoringLoadingAndFailuresAfterSuccess<Value>() -> IgnoringLoadingAndFailures<Self, Value>
  where Element == LoadState<Value> {
    IgnoringLoadingAndFailures(base: self)
  }
}

/// Load states that keep the last good value; see
/// ``_Concurrency/AsyncSequence/ignoringLoadingAndFailuresAfterSuccess()``.
public struct IgnoringLoadingAndFailures<Base: AsyncSequence, Value>: AsyncSequence
where Base.Element == LoadState<Value> {
  public typealias Element = LoadState<Value>
  public typealias Failure = Base.Failure

  let base: Base

  public func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }

  /// An iterator that skips reloads and failures after the first value.
  public struct Iterator: AsyncIteratorProtocol {
    var base: Base.AsyncIterator
    private var follower = ValueFollower()
    /// A Boolean value that indicates whether there was a value that has not been removed.
    private var hasValue = false

    init(base: Base.AsyncIterator) { self.base = base }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Element? {
      while let state = try await base.next(isolation: actor) {
        if passes(state) { return state }
      }
      return nil
    }

    private mutating func passes(_ state: Element) -> Bool {
      switch follower.follow(state) {
      case .new:
        hasValue = true
        return true
      case .same: return state.fetchStatus == .idle && state.error == nil
      case .absent: return !hasValue
      case .lost:
        hasValue = false
        return true
      }
    }
  }
}

extension IgnoringLoadingAndFailures: Sendable where Base: Sendable {}
