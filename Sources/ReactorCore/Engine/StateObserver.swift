import Synchronization

/// A closure that is called with the states of one resource. Like a stream, it gets the latest
/// state, none twice, and never an older one.
///
/// A change offers it a state, and the engine's ``ObserverQueue`` calls it. A state that is offered
/// before the call replaces the one that waits.
final class StateObserver: Sendable {
  enum Body: Sendable {
    case onMainActor(@MainActor @Sendable (ObservedState) -> Void)
    /// A closure with an isolation of its own.
    case isolated(@Sendable (ObservedState, FlightMachine.WaiterID) async -> Void)
  }

  private struct State {
    var waiting: (ObservedState, FlightMachine.WaiterID)?
    /// The revision of the latest state that was offered; `nil` before the first.
    var revision: UInt64?
    var hasEnded = false
  }

  /// The actor that the closure is isolated to; `nil` for none.
  let isolation: (any Actor)?
  let body: Body
  private let state = Mutex(State())

  init(isolation: (any Actor)?, _ body: Body) {
    self.isolation = isolation
    self.body = body
  }

  /// Accepts a state, unless it is older than one that was offered before: the threads that make
  /// two changes may get here in another order.
  ///
  /// - Returns: `true` if the observer must be called. With `false`, somebody is about to call it.
  func offer(_ news: ObservedState, _ id: FlightMachine.WaiterID) -> Bool {
    let (isDue, replaced) = state.withLock { state in
      let replaced = state.waiting
      if state.hasEnded { return (false, replaced) }
      if let revision = state.revision, news.snapshot.revision <= revision { return (false, replaced) }
      state.revision = news.snapshot.revision
      state.waiting = (news, id)
      return (replaced == nil, replaced)
    }
    // Released without the lock: it may hold user objects.
    return withExtendedLifetime(replaced) { isDue }
  }

  /// Returns the state to call the observer with; `nil` if the observation has ended.
  func take() -> (ObservedState, FlightMachine.WaiterID)? { state.withLock { $0.waiting.take() } }

  /// Ends the observation. A call under way on another thread is not waited for.
  func end() {
    let waiting = state.withLock { state in
      state.hasEnded = true
      return state.waiting.take()
    }
    withExtendedLifetime(waiting) {}
  }
}

extension KeyState {
  /// The states that a change delivers, in the order of the streams' numbers.
  struct News {
    var deliveries: [(CheckedContinuation<KeySnapshot?, Never>, KeySnapshot)] = []
    var notices: [Notice] = []
  }

  /// A state for an observer.
  struct Notice: Sendable {
    let observer: StateObserver
    let snapshot: KeySnapshot
    let resource: Resource
    let id: FlightMachine.WaiterID
  }
}

/// A state on its way to the observers of one resource, who share it.
final class ObservedState: Sendable {
  let snapshot: KeySnapshot
  let resource: Resource
  private let key: RecordKey?
  private let engine: ReactorEngine
  /// The ``LoadState`` that was made of it.
  private let made = Mutex<(any Sendable & AnyObject)?>(nil)

  /// - Parameter key: the key of the resource; `nil` if it cannot be observed.
  init(_ snapshot: KeySnapshot, of resource: Resource, _ key: RecordKey?, _ engine: ReactorEngine) {
    self.snapshot = snapshot
    self.resource = resource
    self.key = key
    self.engine = engine
  }

  private final class Typed<Model: Sendable>: Sendable {
    let state: LoadState<Model>
    init(_ state: LoadState<Model>) { self.state = state }
  }

  /// Returns the state with the type of its model, made once.
  func state<Model: Sendable>(as type: Model.Type) -> LoadState<Model> {
    if let known = made.withLock({ $0 }) as? Typed<Model> { return known.state }
    let new = Typed(engine.loadState(snapshot, for: resource).typed(as: type))
    // Only the first, so that nothing is released under the lock.
    made.withLock { if $0 == nil { $0 = new } }
    return new.state
  }

  /// Ends the observation of one of the observers.
  func unsubscribe(_ id: FlightMachine.WaiterID) {
    if let key { engine.unsubscribe(key, id) }
  }
}

/// Calls observers, in one task for all that are isolated to the same actor, however many changes
/// they are due for.
///
/// At most one such task runs for an actor, and one for all observers without an isolation, so that
/// calls of an observer do not overlap. The order is that of ``call(_:)``.
final class ObserverQueue: Sendable {
  /// The observers that are due, by actor. An actor has an entry while a task of its runs.
  private let due = Mutex<[ObjectIdentifier?: [StateObserver]]>([:])
  private let executor: (any TaskExecutor)?

  /// - Parameter executor: the executor of the tasks without an actor; `nil` for the global one.
  init(executor: (any TaskExecutor)?) { self.executor = executor }

  /// Calls each of `observers` once, soon.
  func call(_ observers: [StateObserver]) {
    guard let first = observers.first else { return }
    if observers.allSatisfy({ $0.isolation === first.isolation }) { return call(observers, on: first.isolation) }
    var groups: [(isolation: (any Actor)?, observers: [StateObserver])] = []
    for observer in observers {
      if let index = groups.firstIndex(where: { $0.isolation === observer.isolation }) {
        groups[index].observers.append(observer)
      } else {
        groups.append((observer.isolation, [observer]))
      }
    }
    for group in groups { call(group.observers, on: group.isolation) }
  }

  private func call(_ observers: [StateObserver], on isolation: (any Actor)?) {
    let actor = isolation.map { ObjectIdentifier($0) }
    let isRunning = due.withLock { due in
      guard due[actor] == nil else {
        due[actor]?.append(contentsOf: observers)
        return true
      }
      due[actor] = observers
      return false
    }
    guard !isRunning else { return }
    let priority = max(Task.currentPriority, .medium)
    if isolation === MainActor.shared {
      // It begins there, without a thread of the pool in between.
      spawnOnMainActor(priority: priority) { await self.runOnMainActor() }
    } else {
      _ = spawnApart(on: executor, priority: priority) { await self.run(on: isolation) }
    }
  }

  @MainActor private func runOnMainActor() async {
    while let observers = take(for: ObjectIdentifier(MainActor.shared)) {
      for observer in observers {
        guard let (state, id) = observer.take() else { continue }
        switch observer.body {
        case .onMainActor(let body): body(state)
        case .isolated(let body): await body(state, id)
        }
      }
      // Others of the actor have a turn, however often there are changes.
      await Task.yield()
    }
  }

  private func run(on isolation: isolated (any Actor)?) async {
    let actor = isolation.map { ObjectIdentifier($0) }
    while let observers = take(for: actor) {
      for observer in observers {
        guard case .isolated(let body) = observer.body, let (state, id) = observer.take() else { continue }
        await body(state, id)
      }
      await Task.yield()
    }
  }

  /// Returns the observers that are due; `nil` if there are none, which ends the task.
  private func take(for actor: ObjectIdentifier?) -> [StateObserver]? {
    due.withLock { due in
      guard let observers = due[actor], !observers.isEmpty else {
        due[actor] = nil
        return nil
      }
      due[actor] = []
      return observers
    }
  }
}
