import ReactorCore

extension AsyncSequence {
  /// The elements of this sequence after `element`, which is there at once.
  ///
  /// The iterator of this sequence is made before `element` is given: one that subscribes then misses nothing. Its failure, its end and its
  /// cancellation are passed on; a cancelled task still gets `element`. Runs on the caller's executor.
  public func startWith(_ element: Element) -> StartWith<Self, Element> {
    StartWith(base: self, first: element) { $0 }
  }
}

/// A sequence after one more element; see ``_Concurrency/AsyncSequence/startWith(_:)``.
public struct StartWith<Base: AsyncSequence, Element>: AsyncSequence {
  public typealias Failure = Base.Failure

  let base: Base
  let first: Element
  let convert: @Sendable (Base.Element) -> Element

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: base.makeAsyncIterator(), first: first, convert: convert)
  }

  public struct Iterator: AsyncIteratorProtocol {
    var base: Base.AsyncIterator
    var first: Element?
    let convert: @Sendable (Base.Element) -> Element

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Element? {
      if let element = first.take() { return element }
      return try await base.next(isolation: actor).map(convert)
    }
  }
}

extension StartWith: Sendable where Base: Sendable, Element: Sendable {}

extension AsyncSequence {
  /// The elements of this sequence after `nil`, for a value that is not known yet.
  ///
  /// Otherwise as ``_Concurrency/AsyncSequence/startWith(_:)``. An element that is itself optional is wrapped once more, so that
  /// its own `nil` is told from the first.
  public func startWithNil() -> StartWith<Self, Element?> {
    StartWith(base: self, first: nil) { $0 }
  }
}
