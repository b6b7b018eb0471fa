public import ReactorCore
import Synchronization

extension AsyncSequence where Self: Sendable, Failure == Never {
  /// The states of what depends on the value of this sequence.
  ///
  /// ```swift
  /// let teams = users.states(for: "me").dependentStates { me in teams.states(for: "users/\(me.id)/teams") }
  /// ```
  ///
  /// `make` is called for each new value (`LoadState.valueRevision` tells). If it gives a sequence that equals the current one,
  /// that goes on undisturbed. Otherwise the current one is cancelled, and when it is over the new one begins; until that gives a
  /// state, there is one without a value, fetching. Nothing of the old one appears after the switch. While this sequence has no
  /// value, there are states without one, with its error, status and progress; when its value is removed, what depends on it ends.
  ///
  /// A slow reader gets the latest state only; `LoadState.revision` counts what is given. Both sequences are followed in tasks of
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
    let iterator = SendingBox(outer.makeAsyncIterator())
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

/// Follows one dependent sequence after the other: the shell around ``DependentSwitch``.
final class DependentFollower<Inner: AsyncSequence & Sendable & Equatable, Value: Sendable>: Sendable
where Inner.Element == LoadState<Value>, Inner.Failure == Never {
  typealias Switch = DependentSwitch<Inner, Value>

  private let state = Mutex(Switch())

  /// Returns once the outer sequence has ended, or its task is cancelled.
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

  /// The latest state; `nil` after the end, and once the task is cancelled.
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

  /// The reader takes the state when it runs again, not when it is woken: meanwhile there may be a newer one.
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
    // What the change lets go of ends after the unlock: it may run its user's code.
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

  /// The iterator, and with it the subscription, ends before this returns.
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
