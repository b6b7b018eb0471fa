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
