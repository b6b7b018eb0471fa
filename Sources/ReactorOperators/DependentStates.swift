public import ReactorCore
import Synchronization

extension AsyncSequence where Self: Sendable, Failure == Never {
  /// Returns the states of a sequence that depends on the value of this one.
  ///
  /// ```swift
  /// let teams = users.states(for: "me").dependentStates { me in
  ///   teams.states(for: "users/\(me.id)/teams")
  /// }
  /// ```
  ///
  /// `make` is called for each new value, that is, for each new `LoadState.valueRevision`. If it
  /// returns a sequence that equals the current one, the current one continues. Otherwise the
  /// current one is cancelled, and the new one starts when the old one has ended. Until the new one
  /// yields, the state is fetching without a value. Nothing of the old one is yielded after the
  /// switch, unless `keepsPreviousValue` is set.
  ///
  /// While this sequence has no value, the states have none either, and show its error, status and
  /// progress. When its value is removed, the dependent sequence is cancelled.
  ///
  /// A slow reader gets only the latest state. `LoadState.revision` counts the states of the
  /// result, and is independent of the revisions of both sequences.
  ///
  /// Each sequence is iterated in its own task, this one from `makeAsyncIterator()` on. The tasks
  /// are cancelled when the iterator is released or the reader's task is cancelled. The result ends
  /// then, or when both sequences have ended. A dependent sequence that ignores cancellation delays
  /// the next one.
  ///
  /// A placeholder of this sequence counts as no value, so nothing is fetched for it.
  ///
  /// - Parameters:
  ///   - keepsPreviousValue: `true` to show the last value of the old sequence while the new one
  ///     loads: until it has a value or an error, is idle, or ends. Such a state is stale, and its
  ///     `LoadState.isPlaceholder` is `true`. When the value of this sequence is removed, as at
  ///     sign-out, nothing is kept. Do not set it if the value of one key must not be seen under
  ///     another.
  ///   - make: A closure that returns the dependent sequence of a value.
  public func dependentStates<Value: Sendable, Inner: AsyncSequence & Sendable & Equatable, Dependent: Sendable>(
    keepsPreviousValue: Bool = false, _ make: @escaping @Sendable (Value) -> Inner
  ) -> DependentStates<Self, Inner, Value, Dependent>
  where Element == LoadState<Value>, Inner.Element == LoadState<Dependent>, Inner.Failure == Never {
    DependentStates(outer: self, keepsPreviousValue: keepsPreviousValue, make: make)
  }
}

/// The load states of a dependent sequence; see
/// ``_Concurrency/AsyncSequence/dependentStates(keepsPreviousValue:_:)``.
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
  let keepsPreviousValue: Bool
  let make: @Sendable (Value) -> Inner

  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: DependentSubscription(outer, keepsPreviousValue: keepsPreviousValue, make))
  }

  /// One subscription to both sequences; releasing the iterator ends it.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: DependentSubscription<Inner, Dependent>

    public mutating func next(isolation actor: isolated (any Actor)?) async -> LoadState<Dependent>? {
      await subscription.next()
    }
  }
}

/// One reader's subscriptions; releasing this object ends both.
private final class DependentSubscription<Inner: AsyncSequence & Sendable & Equatable, Dependent: Sendable>: Sendable
where Inner.Element == LoadState<Dependent>, Inner.Failure == Never {
  private let follower: DependentFollower<Inner, Dependent>
  private let task: Task<Void, Never>

  init<Outer: AsyncSequence & Sendable, Value: Sendable>(
    _ outer: Outer, keepsPreviousValue: Bool, _ make: @escaping @Sendable (Value) -> Inner
  ) where Outer.Element == LoadState<Value>, Outer.Failure == Never {
    let iterator = SendingBox(outer.makeAsyncIterator())
    let follower = DependentFollower<Inner, Dependent>(keepsPreviousValue: keepsPreviousValue)
    self.follower = follower
    // The task retains the follower, not this object, so that releasing the object ends the task.
    task = spawn(on: nil, for: LockOwner.current) {
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

/// Follows one dependent sequence after the other: the shell around ``DependentSwitch``.
final class DependentFollower<Inner: AsyncSequence & Sendable & Equatable, Value: Sendable>: Sendable
where Inner.Element == LoadState<Value>, Inner.Failure == Never {
  typealias Switch = DependentSwitch<Inner, Value>

  private let state: Mutex<Switch>

  init(keepsPreviousValue: Bool) { state = Mutex(Switch(keepsPreviousValue: keepsPreviousValue)) }

  /// Follows the outer sequence until it ends, or the task is cancelled.
  func follow<Iterator: AsyncIteratorProtocol, Outer>(
    _ outer: consuming Iterator, _ make: @Sendable (Outer) -> Inner
  ) async where Iterator.Element == LoadState<Outer>, Iterator.Failure == Never {
    var follower = ValueFollower()
    var current: Inner?
    while !Task.isCancelled, let state = await outer.next(isolation: nil) {
      switch (follower.follow(state), state.value) {
      case (.new, let value?):
        let made = make(value)
        if made == current {
          change { $0.showInner() }
        } else {
          current = made
          change { $0.begin(made) }
        }
      case (.lost, _):
        current = nil
        change { $0.showAbsent(Self.absent(state), isLost: true) }
      case (.absent, _): change { $0.showAbsent(Self.absent(state), isLost: false) }
      case (.same, _), (.new, nil): change { $0.showInner() }
      }
    }
    change { $0.endOuter() }
  }

  /// Returns the latest state, once it is new; `nil` after the end, and once the task is cancelled.
  func next() async -> LoadState<Value>? {
    await withTaskCancellationHandler {
      while true {
        switch state.withLock({ $0.next() }) {
        case .yield(let state): return state
        case .end: return nil
        case .wait: await untilChanged()
        }
      }
    } onCancel: {
      cancel()
    }
  }

  func cancel() { change { $0.cancel() } }

  /// Waits for a change. The reader fetches the state after it is resumed, since there may be a
  /// newer one by then.
  private func untilChanged() async {
    await withCheckedContinuation { continuation in
      let isParked = state.withLock { $0.park(continuation) }
      if !isParked { continuation.resume() }
    }
  }

  private func change(_ body: (inout Switch) -> [Switch.Action]) {
    let (actions, old) = state.withLock { state in
      let old = state
      return (body(&state), old)
    }
    // Values that the change replaced are released after the unlock, since that may run a user's
    // code.
    withExtendedLifetime(old) {
      for action in actions { perform(action) }
    }
  }

  private func perform(_ action: Switch.Action) {
    switch action {
    case .begin(let inner, let task):
      task.attach(spawn(on: nil, for: LockOwner.current) { await self.run(inner, task) })
    case .cancel(let task): task.cancel()
    case .wake(let reader): reader.resume()
    }
  }

  private func run(_ inner: Inner, _ task: TaskHandle) async {
    await read(inner, task)
    change { $0.endInner() }
  }

  /// Yields the states of the dependent sequence. Its iterator, and so its subscription, ends
  /// before this returns.
  private func read(_ inner: Inner, _ task: TaskHandle) async {
    for await state in inner {
      guard !Task.isCancelled else { return }
      change { $0.receive(state, from: task) }
    }
  }

  private static func absent<Outer>(_ state: LoadState<Outer>) -> LoadState<Value> {
    var absent = LoadState<Value>(error: state.error, fetchStatus: state.fetchStatus, progress: state.progress)
    absent.isRemoved = state.isRemoved
    return absent
  }
}
