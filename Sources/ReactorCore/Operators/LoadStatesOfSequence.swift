extension AsyncSequence {
  /// The states of this sequence, as a screen shows them: first loading, then each element as loaded; a failure as failed.
  ///
  /// It never throws: a failure is one last state, with the error and the last value kept, and then the end. An error that is no
  /// ``ReactorError`` becomes ``ReactorError/network(_:)``, a `CancellationError` ``ReactorError/cancelled``. Where the task is
  /// cancelled, whatever the sequence throws ends this one with no state. ``LoadState/origin`` and ``LoadState/fetchedAt`` are not
  /// known, so `nil`; ``LoadState/revision`` counts from 0. Iterating begins the sequence before the loading state is given. Runs
  /// on the caller's executor.
  public func loadStates() -> LoadStatesOfSequence<Self> { LoadStatesOfSequence(base: self) }
}

/// A sequence with its failure as load states; see ``_Concurrency/AsyncSequence/loadStates()``.
public struct LoadStatesOfSequence<Base: AsyncSequence>: AsyncSequence {
  public typealias Element = LoadState<Base.Element>
  public typealias Failure = Never

  let base: Base

  public func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }

  public struct Iterator: AsyncIteratorProtocol {
    /// `nil` after the end.
    var base: Base.AsyncIterator?
    /// The state that was given last.
    var latest: Element?

    init(base: Base.AsyncIterator) { self.base = base }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      guard let latest else { return give(LoadState(fetchStatus: .fetching)) }
      do {
        if let value = try await base?.next(isolation: actor) {
          let revision = latest.revision + 1
          return give(LoadState(value: value, revision: revision, valueRevision: revision))
        }
        base = nil
        return nil
      } catch {
        base = nil
        if Task.isCancelled { return nil }
        let error = ReactorError(error) { .network($0) }
        return give(
          LoadState(
            value: latest.value, error: error, revision: latest.revision + 1, valueRevision: latest.valueRevision))
      }
    }

    private mutating func give(_ state: Element) -> Element {
      latest = state
      return state
    }
  }
}

extension LoadStatesOfSequence: Sendable where Base: Sendable {}
