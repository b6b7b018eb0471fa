public import ReactorCore

extension Reactor {
  /// One fetch of the resource each time that it is iterated: its model, and the end. Nothing happens until then.
  ///
  /// ```swift
  /// let states = posts.fetches("posts").loadStates().reloadPeriodically(every: .seconds(60), while: isOnScreen)
  /// ```
  ///
  /// It fails as `fetch(_:policy:)` does; a cancelled task gets `ReactorError.cancelled`. To follow what others change too,
  /// iterate `states(for:policy:)`.
  public func fetches(_ resource: Resource, policy: FetchPolicy = .cacheFirst) -> FetchSequence<Model> {
    FetchSequence(reactor: self, resource: resource, policy: policy)
  }
}

/// A fetch as a sequence of one model; see `Reactor.fetches(_:policy:)`. It keeps its reactor alive.
public struct FetchSequence<Model: Sendable>: AsyncSequence, Sendable {
  public typealias Element = Model
  public typealias Failure = ReactorError

  let reactor: Reactor<Model>
  let resource: Resource
  let policy: FetchPolicy

  public func makeAsyncIterator() -> Iterator { Iterator(fetch: self) }

  public struct Iterator: AsyncIteratorProtocol {
    /// `nil` once it has begun.
    var fetch: FetchSequence?

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(ReactorError) -> Model? {
      guard let fetch = fetch.take() else { return nil }
      guard !Task.isCancelled else { throw .cancelled }
      return try await fetch.reactor.fetch(fetch.resource, policy: fetch.policy)
    }
  }
}
