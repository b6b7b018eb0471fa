import ReactorCore

/// Decides which dependent sequence runs, and what is shown of it. Guarded by the lock of
/// ``DependentFollower``, which does what is returned after it has unlocked.
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
    /// It was cancelled and is not over yet; after it, the next begins.
    case ending(next: Inner?)
  }

  private var run = Run.none
  /// The latest of the sequence that runs.
  private var inner: LoadState<Value>?
  private var follower = ValueFollower()
  /// The state that is shown while the outer sequence has no value.
  private var absent: LoadState<Value>?
  private var hasOuterEnded = false
  private var isCancelled = false
  /// Counts what is to be given; 0 before the first.
  private var revision: UInt64 = 0
  private var valueRevision: UInt64 = 0
  private var hasNewValue = false
  private var given: UInt64 = 0
  private var waiter: CheckedContinuation<Void, Never>?
}

// What the outer sequence brings.
extension DependentSwitch {
  /// It has no value.
  ///
  /// - Parameter isLost: whether the one it had concerns nobody any more.
  mutating func showAbsent(_ state: LoadState<Value>, isLost: Bool) -> [Action] {
    guard !isCancelled else { return [] }
    absent = state
    return (isLost ? replace(with: nil) : []) + publish()
  }

  /// It has a value to which what runs belongs.
  mutating func showInner() -> [Action] {
    guard absent != nil else { return [] }
    absent = nil
    return publish()
  }

  /// It has a value to which `new` belongs, and nothing that runs.
  mutating func begin(_ new: Inner) -> [Action] {
    guard !isCancelled else { return [] }
    absent = nil
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

// What the dependent sequence brings.
extension DependentSwitch {
  /// A state of the sequence that `task` runs; dropped where that is no longer the one.
  mutating func receive(_ state: LoadState<Value>, from task: TaskHandle) -> [Action] {
    guard case .running(let current) = run, current === task else { return [] }
    switch follower.follow(state) {
    case .new, .lost: hasNewValue = true
    case .same, .absent: break
    }
    inner = state
    return absent == nil ? publish() : []
  }

  /// Nothing is left of the sequence that `task` ran.
  mutating func endInner() -> [Action] {
    guard case .ending(let next) = run else {
      run = .none
      guard inner == nil, !isCancelled else { return wake() }
      // It gave nothing, so nothing is on its way.
      inner = LoadState()
      return absent == nil ? publish() : wake()
    }
    run = .none
    return next.map { start($0) } ?? []
  }
}

// What the reader does.
extension DependentSwitch {
  /// The latest, if it was not given yet.
  mutating func next() -> Next {
    if isCancelled { return .end }
    guard given == revision else {
      given = revision
      return .yield(shown)
    }
    return hasEnded ? .end : .wait
  }

  /// Keeps the reader until there is something for it; `false` where there is already.
  mutating func park(_ reader: CheckedContinuation<Void, Never>) -> Bool {
    guard !isCancelled, given == revision, !hasEnded else { return false }
    waiter = reader
    return true
  }

  /// Lets go of all.
  mutating func cancel() -> [Action] {
    var actions = wake()
    if case .running(let task) = run { actions.append(.cancel(task)) }
    self = DependentSwitch()
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
    return state
  }

  private mutating func publish() -> [Action] {
    revision += 1
    if hasNewValue { valueRevision = ValueRevision.next() }
    hasNewValue = false
    return wake()
  }

  private mutating func wake() -> [Action] { waiter.take().map { [.wake($0)] } ?? [] }
}
