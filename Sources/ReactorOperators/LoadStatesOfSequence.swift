public import ReactorCore
import Synchronization

extension AsyncSequence {
  /// Returns the states of this sequence for a screen: first loading, then each element as a value,
  /// and a failure as an error.
  ///
  /// ```swift
  /// for await state in stories.fetches("stories").loadStates() {
  ///   show(state.value ?? [], error: state.error)
  /// }
  /// ```
  ///
  /// The result never throws. A failure is one last state with the error and the last value, and
  /// then the end. An error that is not a `ReactorError` becomes `ReactorError.network(_:)`, and a
  /// `CancellationError` becomes `ReactorError.cancelled`. If the task is cancelled, an error of
  /// this sequence ends the result without a state.
  ///
  /// `LoadState.origin` and `LoadState.fetchedAt` are unknown, and so `nil`. `LoadState.revision`
  /// counts from 0, and continues from one iteration to the next. This sequence's iterator is made
  /// before the loading state is yielded. Runs on the caller's executor.
  public func loadStates() -> LoadStatesOfSequence<Self> { LoadStatesOfSequence(base: self) }
}

/// The elements and the failure of a sequence as load states; see
/// ``_Concurrency/AsyncSequence/loadStates()``.
public struct LoadStatesOfSequence<Base: AsyncSequence>: AsyncSequence {
  public typealias Element = LoadState<Base.Element>
  public typealias Failure = Never

  let base: Base
  private let revisions = Revisions()

  init(base: Base) { self.base = base }

  public func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), revisions: revisions) }

  /// An iterator whose first state is loading.
  public struct Iterator: AsyncIteratorProtocol {
    /// The base iterator; `nil` after the end.
    private var base: Base.AsyncIterator?
    /// The state that was yielded last.
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

/// A counter from 0.
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
