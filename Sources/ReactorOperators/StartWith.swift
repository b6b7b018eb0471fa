import ReactorCore

extension AsyncSequence {
  /// Returns a sequence that yields `element` at once, and then the elements of this sequence.
  ///
  /// ```swift
  /// for await query in queries.startWith("") { search(query) }
  /// ```
  ///
  /// This sequence's iterator is made before `element` is yielded, so a sequence that subscribes
  /// then misses nothing. Failure, end and cancellation are passed on; a cancelled task still gets
  /// `element`. Runs on the caller's executor.
  public func startWith(_ element: Element) -> StartWith<Self, Element> {
    StartWith(base: self, first: element) { $0 }
  }
}

/// A sequence with one element before its own; see ``_Concurrency/AsyncSequence/startWith(_:)``.
public struct StartWith<Base: AsyncSequence, Element>: AsyncSequence {
  public typealias Failure = Base.Failure

  let base: Base
  let first: Element
  let convert: @Sendable (Base.Element) -> Element

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: base.makeAsyncIterator(), first: first, convert: convert)
  }

  /// An iterator that yields the first element without suspending.
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
  /// Returns a sequence that yields `nil` at once, for a value that is not known yet, and then the
  /// elements of this sequence.
  ///
  /// ```swift
  /// for await place in places.startWithNil() { show(place ?? "locating…") }
  /// ```
  ///
  /// It behaves like ``_Concurrency/AsyncSequence/startWith(_:)`` in all else. Optional elements
  /// are wrapped once more, so that a `nil` element differs from the first one.
  public func startWithNil() -> StartWith<Self, Element?> {
    StartWith(base: self, first: nil) { $0 }
  }
}
