public import ReactorCore

extension Reactor {
  /// Returns a sequence that fetches the resource once per iteration, yields the model and ends.
  /// Nothing happens until it is iterated.
  ///
  /// ```swift
  /// let states = posts.fetches("posts").loadStates()
  ///   .reloadPeriodically(every: .seconds(60), while: isOnScreen)
  /// ```
  ///
  /// It throws the errors of `fetch(_:policy:)`; a cancelled task gets `ReactorError.cancelled`. To
  /// follow changes by other callers too, iterate `states(for:policy:)`.
  public func fetches(_ resource: Resource, policy: FetchPolicy = .cacheFirst) -> FetchSequence<Model> {
    FetchSequence(reactor: self, resource: resource, policy: policy)
  }
}

/// A fetch as a sequence of one model; see `Reactor.fetches(_:policy:)`. It retains its reactor.
public struct FetchSequence<Model: Sendable>: AsyncSequence, Sendable {
  public typealias Element = Model
  public typealias Failure = ReactorError

  let reactor: Reactor<Model>
  let resource: Resource
  let policy: FetchPolicy

  public func makeAsyncIterator() -> Iterator { Iterator(fetch: self) }

  /// An iterator that fetches on its first call of `next()`.
  public struct Iterator: AsyncIteratorProtocol {
    /// The fetch to make; `nil` once it has started.
    var fetch: FetchSequence?

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(ReactorError) -> Model? {
      guard let fetch = fetch.take() else { return nil }
      guard !Task.isCancelled else { throw .cancelled }
      return try await fetch.reactor.fetch(fetch.resource, policy: fetch.policy)
    }
  }
}
