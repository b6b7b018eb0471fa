import Synchronization

/// The time that a layer waits for its persistence; see
/// ``ReactorConfiguration/persistenceBudget``.
///
/// One task sleeps for all that wait. A wait that ends in time therefore costs no task.
final class StoreBudget: Sendable {
  typealias WaitID = UInt64

  private struct Wait: Sendable {
    let key: RecordKey
    /// The time at which the budget is used up.
    let due: Duration
    let isOver: @Sendable () -> Void
  }

  private struct State {
    var lastID: WaitID = 0
    var waits: [WaitID: Wait] = [:]
    /// The keys of the waits that are over, while the persistence has yet to answer.
    var late: [WaitID: RecordKey] = [:]
    /// The task that sleeps until the next wait is over; `nil` while nothing waits.
    var watcher: TaskHandle?
  }

  /// The budget; `nil` for no limit.
  let limit: Duration?
  private let state = Mutex(State())
  private let clock: any Clock<Duration>
  private let elapsed: @Sendable () -> Duration
  private let executor: (any TaskExecutor)?
  /// A Boolean value that indicates whether the watcher keeps sleeping while nothing waits, so that
  /// the next wait needs no task. Tests turn it off to prove that no task sleeps on their clock.
  private let sleepsOn: Bool

  init(_ configuration: ReactorConfiguration) {
    let isContinuous = configuration.clock is ContinuousClock
    let budget = configuration.persistenceBudget ?? (isContinuous ? .seconds(5) : .never)
    limit = budget < .never ? max(.zero, budget) : nil
    clock = configuration.clock
    elapsed = configuration.clock.stopwatch()
    executor = configuration.taskExecutor
    sleepsOn = isContinuous
  }

  /// The error of a wait that is over; `nil` if there is no limit.
  var error: ReactorError? { limit.map { .persistence(StoreIsLate(limit: $0)) } }

  /// Begins a wait for the persistence of a key.
  ///
  /// - Parameter isOver: called without a lock when the budget is used up; at once if an earlier
  ///   wait for the key is over, and the persistence has yet to answer.
  func begin(_ key: RecordKey, _ isOver: @escaping @Sendable () -> Void) -> WaitID {
    guard let limit else { return 0 }
    let due = elapsed() + limit
    let (id, isLate, watcher) = state.withLock { state -> (WaitID, Bool, TaskHandle?) in
      state.lastID += 1
      guard state.late.isEmpty || !state.late.values.contains(key) else {
        state.late[state.lastID] = key
        return (state.lastID, true, nil)
      }
      state.waits[state.lastID] = Wait(key: key, due: due, isOver: isOver)
      guard state.watcher == nil else { return (state.lastID, false, nil) }
      let watcher = TaskHandle(priority: nil)
      state.watcher = watcher
      return (state.lastID, false, watcher)
    }
    if let watcher { watcher.attach(spawnApart(on: executor) { await self.watch(watcher) }) }
    if isLate { isOver() }
    return id
  }

  /// Ends a wait: the persistence has answered.
  ///
  /// - Returns: `false` if the wait was over before.
  func end(_ id: WaitID) -> Bool {
    guard limit != nil else { return true }
    let (isInTime, ended) = state.withLock { state -> (Wait?, TaskHandle?) in
      guard let wait = state.waits.removeValue(forKey: id) else {
        state.late[id] = nil
        return (nil, nil)
      }
      return (wait, state.waits.isEmpty && !sleepsOn ? state.watcher.take() : nil)
    }
    ended?.cancel()
    return isInTime != nil
  }

  private func watch(_ watcher: TaskHandle) async {
    while let wait = nextWait(of: watcher) {
      do { try await clock.sleep(for: wait) } catch { return }
      for wait in takeDue() { wait.isOver() }
    }
  }

  /// Returns the time until the next wait is over; `nil` if the watcher is no longer needed.
  private func nextWait(of watcher: TaskHandle) -> Duration? {
    let now = elapsed()
    return state.withLock { state in
      guard state.watcher === watcher else { return nil }
      guard let due = state.waits.values.lazy.map(\.due).min() else {
        state.watcher = nil
        return nil
      }
      return max(due - now, .milliseconds(1))
    }
  }

  private func takeDue() -> [Wait] {
    let now = elapsed()
    return state.withLock { state in
      let due = state.waits.filter { $0.value.due <= now }.sorted { $0.key < $1.key }
      for (id, wait) in due {
        state.waits[id] = nil
        state.late[id] = wait.key
      }
      return due.map(\.value)
    }
  }
}

extension StoreBudget {
  /// Runs `body`, which calls the persistence for a key, and returns its result. When the budget is
  /// used up, `body` continues by itself.
  ///
  /// - Throws: the errors of `body`; ``StoreIsLate``; `CancellationError` as soon as the task is
  ///   cancelled, which cancels `body`.
  func within<Value: Sendable>(
    _ key: RecordKey, _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard let limit else { return try await body() }
    let shot = OneShot<Result<Value, any Error>>()
    let wait = begin(key) { shot.settle(.failure(StoreIsLate(limit: limit))) }
    let task = TaskHandle(priority: Task.currentPriority)
    return try await withTaskCancellationHandler {
      task.attach(
        spawn(on: executor, priority: task.priority, for: LockOwner.current) {
          let result: Result<Value, any Error>
          do { result = .success(try await body()) } catch { result = .failure(error) }
          if self.end(wait) { shot.settle(result) }
        })
      return try await shot.value.get()
    } onCancel: {
      if shot.settle(.failure(CancellationError())) { task.cancel() }
    }
  }
}

/// The error for a persistence that takes longer than ``ReactorConfiguration/persistenceBudget``.
struct StoreIsLate: Error, CustomStringConvertible {
  let limit: Duration

  var description: String {
    "it has not answered for \(limit); look whether another process has locked it, or its disk hangs"
  }
}
