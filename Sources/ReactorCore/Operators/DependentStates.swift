extension AsyncSequence where Self: Sendable, Failure == Never {
  /// The states of what depends on the value of this sequence.
  ///
  /// ```swift
  /// let teams = users.states(for: "me").dependentStates { me in teams.states(for: "users/\(me.id)/teams") }
  /// ```
  ///
  /// `make` is called for each new value (``LoadState/valueRevision`` tells). If it gives a sequence that equals the current one,
  /// that goes on undisturbed. Otherwise the current one is cancelled, and when it is over the new one begins; until that gives a
  /// state, there is one without a value, fetching. Nothing of the old one appears after the switch. While this sequence has no
  /// value, there are states without one, with its error, status and progress; when its value is removed, what depends on it ends.
  ///
  /// A slow reader gets the latest state only; ``LoadState/revision`` counts what is given. Both sequences are followed in tasks of
  /// their own, this one from `makeAsyncIterator()` on. They end with the iterator's life, or when the reader's task is
  /// cancelled; the states end then, or when both sequences have. One that ignores cancellation while it waits holds up the next.
  public func dependentStates<Value: Sendable, Inner: AsyncSequence & Sendable & Equatable, Dependent: Sendable>(
    _ make: @escaping @Sendable (Value) -> Inner
  ) -> DependentStates<Self, Inner, Value, Dependent>
  where Element == LoadState<Value>, Inner.Element == LoadState<Dependent>, Inner.Failure == Never {
    DependentStates(outer: self, make: make)
  }
}

/// Load states of what depends on another value; see ``_Concurrency/AsyncSequence/dependentStates(_:)``.
public struct DependentStates<
  Outer: AsyncSequence & Sendable, Inner: AsyncSequence & Sendable & Equatable, Value: Sendable, Dependent: Sendable
>: AsyncSequence, Sendable
where
  Outer.Element == LoadState<Value>, Outer.Failure == Never, Inner.Element == LoadState<Dependent>,
  Inner.Failure == Never
{
  public typealias Element = LoadState<Dependent>
  public typealias Failure = Never

  let outer: Outer
  let make: @Sendable (Value) -> Inner

  public func makeAsyncIterator() -> Iterator { Iterator(subscription: DependentSubscription(outer, make)) }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: DependentSubscription<Inner, Dependent>

    public mutating func next(isolation actor: isolated (any Actor)?) async -> LoadState<Dependent>? {
      await subscription.next()
    }
  }
}

/// One reader's; both subscriptions end with this object.
private final class DependentSubscription<Inner: AsyncSequence & Sendable & Equatable, Dependent: Sendable>: Sendable
where Inner.Element == LoadState<Dependent>, Inner.Failure == Never {
  private let follower = DependentFollower<Inner, Dependent>()
  private let task: Task<Void, Never>

  init<Outer: AsyncSequence & Sendable, Value: Sendable>(
    _ outer: Outer, _ make: @escaping @Sendable (Value) -> Inner
  ) where Outer.Element == LoadState<Value>, Outer.Failure == Never {
    let iterator = Parcel(outer.makeAsyncIterator())
    // The task holds the follower, not this object, so that it ends with this object.
    task = spawn(on: nil, for: LockOwner.current) { [follower] in
      if let iterator = iterator.take() { await follower.follow(iterator, make) }
    }
  }

  deinit { end() }

  func next() async -> LoadState<Dependent>? {
    await withTaskCancellationHandler {
      await follower.next()
    } onCancel: {
      end()
    }
  }

  private func end() {
    follower.cancel()
    task.cancel()
  }
}
