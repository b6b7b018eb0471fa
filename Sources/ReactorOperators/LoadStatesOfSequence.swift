public import ReactorCore
import Synchronization

extension AsyncSequence {
  /// The states of this sequence, as a screen shows them: first loading, then each element as loaded; a failure as failed.
  ///
  /// It never throws: a failure is one last state, with the error and the last value kept, and then the end. An error that is no
  /// `ReactorError` becomes `ReactorError.network(_:)`, a `CancellationError` `ReactorError.cancelled`. Where the task is
  /// cancelled, whatever the sequence throws ends this one with no state. `LoadState.origin` and `LoadState.fetchedAt` are not
  /// known, so `nil`; `LoadState.revision` counts from 0, and on from one iteration to the next. Iterating begins the sequence before the loading state is given. Runs on the caller's
  /// executor.
  public func loadStates() -> LoadStatesOfSequence<Self> { LoadStatesOfSequence(base: self) }
}

/// A sequence with its failure as load states; see ``_Concurrency/AsyncSequence/loadStates()``.
public struct LoadStatesOfSequence<Base: AsyncSequence>: AsyncSequence {
  public typealias Element = LoadState<Base.Element>
  public typealias Failure = Never

  let base: Base
  private let revisions = Revisions()

  init(base: Base) { self.base = base }

  public func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), revisions: revisions) }

  public struct Iterator: AsyncIteratorProtocol {
    /// `nil` after the end.
    private var base: Base.AsyncIterator?
    /// The state that was given last.
    private var latest: Element?
    private let revisions: Revisions

    fileprivate init(base: Base.AsyncIterator, revisions: Revisions) {
      self.base = base
      self.revisions = revisions
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      guard let latest else { return yield(LoadState(fetchStatus: .fetching)) }
      do {
        if let value = try await base?.next(isolation: actor) { return yield(LoadState(value: value)) }
        base = nil
        return nil
      } catch {
        base = nil
        if Task.isCancelled { return nil }
        let error = ReactorError(error) { .network($0) }
        return yield(LoadState(value: latest.value, error: error, valueRevision: latest.valueRevision))
      }
    }

    private mutating func yield(_ state: Element) -> Element {
      var state = state
      state.revision = revisions.next()
      if state.value != nil, state.error == nil { state.valueRevision = ValueRevision.next() }
      latest = state
      return state
    }
  }
}

/// Counts up from 0.
private final class Revisions: Sendable {
  private let count = Mutex<UInt64>(0)

  func next() -> UInt64 {
    count.withLock { count in
      defer { count += 1 }
      return count
    }
  }
}

extension LoadStatesOfSequence: Sendable where Base: Sendable {}
