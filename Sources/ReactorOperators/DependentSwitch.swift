import ReactorCore

/// The state machine that decides which dependent sequence runs, and which state is shown.
///
/// The lock of ``DependentFollower`` guards it. The follower performs the returned actions after it
/// unlocks.
struct DependentSwitch<Inner: Sendable, Value: Sendable>: Sendable {
  enum Action {
    case begin(Inner, TaskHandle)
    case cancel(TaskHandle)
    case wake(CheckedContinuation<Void, Never>)
  }

  enum Next {
    case yield(LoadState<Value>)
    case wait
    case end
  }

  private enum Run {
    case none
    case running(TaskHandle)
    /// The sequence was cancelled and has not ended yet; then the next one starts.
    case ending(next: Inner?)
  }

  let keepsPreviousValue: Bool
  private var run = Run.none
  /// The state with the last value of an earlier sequence, to show while the current one loads;
  /// `nil` if there was no value, or it is not to be kept.
  private var previous: LoadState<Value>?
  /// The latest state of the running sequence.
  private var inner: LoadState<Value>?
  private var follower = ValueFollower()
  /// The state to show while the outer sequence has no value; `nil` while it has one.
  private var absent: LoadState<Value>?
  private var hasOuterEnded = false
  private var isCancelled = false
  /// The number of the latest state to yield; 0 before the first.
  private var revision: UInt64 = 0
  private var valueRevision: UInt64 = 0
  private var hasNewValue = false
  private var given: UInt64 = 0
  private var waiter: CheckedContinuation<Void, Never>?

  init(keepsPreviousValue: Bool = false) { self.keepsPreviousValue = keepsPreviousValue }
}

// Changes of the outer sequence.
extension DependentSwitch {
  /// The outer sequence has no value.
  ///
  /// - Parameter isLost: `true` if the value that it had was removed or replaced, so that the
  ///   dependent sequence ends.
  mutating func showAbsent(_ state: LoadState<Value>, isLost: Bool) -> [Action] {
    guard !isCancelled else { return [] }
    absent = state
    // The value may have been removed, even if the state says so no longer.
    if isLost { previous = nil }
    return (isLost ? replace(with: nil) : []) + publish()
  }

  /// The outer sequence has a value that the running sequence belongs to.
  mutating func showInner() -> [Action] {
    guard absent != nil else { return [] }
    absent = nil
    return publish()
  }

  /// The outer sequence has a value that `new` belongs to, and the running sequence does not.
  mutating func begin(_ new: Inner) -> [Action] {
    guard !isCancelled else { return [] }
    absent = nil
    if keepsPreviousValue, let inner, inner.value != nil, !inner.isPlaceholder {
      previous = inner
      previous?.valueRevision = valueRevision
    }
    return replace(with: new) + publish()
  }

  mutating func endOuter() -> [Action] {
    hasOuterEnded = true
    return (absent == nil ? [] : replace(with: nil)) + wake()
  }

  private mutating func replace(with new: Inner?) -> [Action] {
    inner = nil
    follower = ValueFollower()
    hasNewValue = true
    switch run {
    case .none: return new.map { start($0) } ?? []
    case .running(let task):
      run = .ending(next: new)
      return [.cancel(task)]
    case .ending:
      run = .ending(next: new)
      return []
    }
  }

  private mutating func start(_ new: Inner) -> [Action] {
    let task = TaskHandle(priority: nil)
    run = .running(task)
    return [.begin(new, task)]
  }
}

// Changes of the dependent sequence.
extension DependentSwitch {
  /// The sequence of `task` yielded a state. It is dropped if that sequence is no longer the
  /// current one.
  mutating func receive(_ state: LoadState<Value>, from task: TaskHandle) -> [Action] {
    guard case .running(let current) = run, current === task else { return [] }
    switch follower.follow(state) {
    case .new, .lost: hasNewValue = true
    case .same, .absent: break
    }
    inner = state
    if !state.isLoadingWithoutValue { previous = nil }
    return absent == nil ? publish() : []
  }

  /// The running sequence has ended, cancelled or not.
  mutating func endInner() -> [Action] {
    guard case .ending(let next) = run else {
      run = .none
      guard inner == nil, !isCancelled else { return wake() }
      // It yielded nothing, and is not fetching.
      inner = LoadState()
      previous = nil
      return absent == nil ? publish() : wake()
    }
    run = .none
    return next.map { start($0) } ?? []
  }
}

// Calls of the reader.
extension DependentSwitch {
  /// Returns the latest state, if it was not yielded yet.
  mutating func next() -> Next {
    if isCancelled { return .end }
    guard given == revision else {
      given = revision
      return .yield(shown)
    }
    return hasEnded ? .end : .wait
  }

  /// Stores the reader until there is a state for it; returns `false` if there is one already.
  mutating func park(_ reader: CheckedContinuation<Void, Never>) -> Bool {
    guard !isCancelled, given == revision, !hasEnded else { return false }
    waiter = reader
    return true
  }

  /// Ends everything, and releases the states.
  mutating func cancel() -> [Action] {
    var actions = wake()
    if case .running(let task) = run { actions.append(.cancel(task)) }
    self = DependentSwitch(keepsPreviousValue: keepsPreviousValue)
    isCancelled = true
    return actions
  }

  private var hasEnded: Bool {
    guard hasOuterEnded else { return false }
    return switch run {
    case .none, .ending(next: nil): true
    case .running, .ending: false
    }
  }

  private var shown: LoadState<Value> {
    var state = absent ?? inner ?? LoadState(fetchStatus: .fetching)
    state.revision = revision
    state.valueRevision = valueRevision
    return previous.map(state.showing) ?? state
  }

  private mutating func publish() -> [Action] {
    revision += 1
    if hasNewValue { valueRevision = ValueRevision.next() }
    hasNewValue = false
    return wake()
  }

  private mutating func wake() -> [Action] { waiter.take().map { [.wake($0)] } ?? [] }
}

extension LoadState {
  /// A Boolean value that indicates whether there is no value yet, or only a placeholder, and a
  /// value may still come.
  fileprivate var isLoadingWithoutValue: Bool {
    (value == nil || isPlaceholder) && error == nil && fetchStatus != .idle
  }

  /// Returns this state, which is loading, with the value of the previous sequence as a
  /// placeholder.
  fileprivate func showing(_ previous: LoadState) -> LoadState {
    guard value == nil, isLoadingWithoutValue else { return self }
    var state = previous
    (state.error, state.fetchStatus, state.progress) = (nil, fetchStatus, progress)
    (state.revision, state.isStale, state.isPlaceholder) = (revision, true, true)
    return state
  }
}
