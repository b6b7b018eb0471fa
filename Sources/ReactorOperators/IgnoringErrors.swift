public import ReactorCore

extension AsyncSequence {
  /// The elements of this sequence until it fails; then `replacement`, if there is one, and the end.
  ///
  /// A cancelled task gets no replacement: whatever the sequence then throws, this one ends. Where elements are optional,
  /// `nil` means no replacement, and `.some(nil)` that `nil` replaces the error. Runs on the caller's executor.
  public func ignoringErrors(replacement: Element? = nil) -> IgnoringErrors<Self> {
    IgnoringErrors(base: self, replacement: replacement)
  }
}

/// A sequence that ends where another fails; see ``_Concurrency/AsyncSequence/ignoringErrors(replacement:)``.
public struct IgnoringErrors<Base: AsyncSequence>: AsyncSequence {
  public typealias Element = Base.Element
  public typealias Failure = Never

  let base: Base
  let replacement: Base.Element?

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: base.makeAsyncIterator(), replacement: replacement)
  }

  public struct Iterator: AsyncIteratorProtocol {
    /// `nil` after the end.
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
  /// The states of this sequence; once there was a value, without those that only say that it loads again or failed to.
  ///
  /// So a screen keeps the last good value and does not blink. A state passes after the first value if it has a value and is
  /// neither loading nor failed, or if its value is another (`LoadState.valueRevision` tells). A state that is idle with neither
  /// value nor error says that the value was removed: it passes, and what follows is as before the first value. Failure, end
  /// and cancellation are passed on. Runs on the caller's executor.
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

  public struct Iterator: AsyncIteratorProtocol {
    var base: Base.AsyncIterator
    private var follower = ValueFollower()
    /// A Boolean value that indicates whether there was a value, and it was not removed.
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
