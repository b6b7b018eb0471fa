import Synchronization

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
        case .give(let state): return state
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

  private func run(_ inner: Inner, _ task: FlightTask) async {
    await read(inner, task)
    change { $0.endInner() }
  }

  /// The iterator, and with it the subscription, ends before this returns.
  private func read(_ inner: Inner, _ task: FlightTask) async {
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
