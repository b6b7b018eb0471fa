import Synchronization

/// The reader of a stream's states.
enum StateReader: Sendable {
  /// A stream, which asks for each state.
  case stream(StateSlot)
  /// An observer, which is called with each state.
  case observer(any StateObserving)

  /// The number of the stream.
  var id: FlightMachine.WaiterID {
    switch self {
    case .stream(let slot): slot.id
    case .observer(let observer): observer.id
    }
  }

  /// Ends the stream. A pending call for its next state returns `nil`, and the observer is not
  /// called any more. A call under way on another thread is not waited for.
  func end() {
    switch self {
    case .stream(let slot): slot.end()
    case .observer(let observer): observer.end()
    }
  }
}

/// A state for those who see the same.
struct StateOffer<Reader: Sendable>: Sendable {
  let snapshot: KeySnapshot
  let readers: [Reader]
}

/// The newest state that a stream has not got yet. A newer one replaces it, so that a slow reader
/// gets the latest state, none twice, and never an older one.
final class StateSlot: Sendable {
  // Unsafe, because to check it takes an allocation for each state, and makes the size of this
  // struct unknown to the compiler. Whoever takes it resumes it.
  private typealias Continuation = UnsafeContinuation<KeySnapshot?, Never>

  private struct State {
    var waiting: KeySnapshot?
    /// The revision of the latest state that was offered; `nil` before the first.
    var revision: UInt64?
    /// The pending call of ``next()``; `nil` if none waits.
    var continuation: Continuation?
    var hasEnded = false
  }

  /// The number of the stream.
  let id: FlightMachine.WaiterID
  private let state = Mutex(State())

  init(_ id: FlightMachine.WaiterID) { self.id = id }

  /// Accepts a state, unless it is older than one that was offered before: the threads that make
  /// two changes may get here in another order. A pending call of ``next()`` returns it.
  func offer(_ snapshot: KeySnapshot) {
    let (continuation, replaced) = state.withLock { state -> (Continuation?, KeySnapshot?) in
      if state.hasEnded { return (nil, nil) }
      if let revision = state.revision, snapshot.revision <= revision { return (nil, nil) }
      state.revision = snapshot.revision
      if let continuation = state.continuation.take() { return (continuation, nil) }
      let replaced = state.waiting
      state.waiting = snapshot
      return (nil, replaced)
    }
    continuation?.resume(returning: snapshot)
    // Released without the lock: it may hold user objects.
    withExtendedLifetime(replaced) {}
  }

  /// Returns the state that waits; `nil` if none does.
  func take() -> KeySnapshot? { state.withLock { $0.waiting.take() } }

  /// Returns the next state once there is one; `nil` after the end.
  func next() async -> KeySnapshot? {
    await withUnsafeContinuation { continuation in
      let (due, snapshot) = state.withLock { state -> (Continuation?, KeySnapshot?) in
        if state.hasEnded { return (continuation, nil) }
        if let waiting = state.waiting.take() { return (continuation, waiting) }
        // Iterators are not called concurrently. If two calls overlap, the earlier one gets the
        // end.
        defer { state.continuation = continuation }
        return (state.continuation, nil)
      }
      due?.resume(returning: snapshot)
    }
  }

  func end() {
    let (continuation, waiting) = state.withLock { state in
      state.hasEnded = true
      return (state.continuation.take(), state.waiting.take())
    }
    continuation?.resume(returning: nil)
    withExtendedLifetime(waiting) {}
  }
}

/// An observer of states of any type; see ``StateObserver``.
protocol StateObserving: AnyObject, Sendable {
  var id: FlightMachine.WaiterID { get }
  /// The actor that the closure is isolated to; `nil` for none.
  var isolation: (any Actor)? { get }
  func end()

  /// Calls observers that see the same, are isolated to `isolation`, and are of one reactor.
  func call(
    _ observers: [any StateObserving], with snapshot: KeySnapshot, _ engine: ReactorEngine,
    on isolation: isolated (any Actor)?
  ) async
}

/// A closure that is called with the states of one resource, by the engine's ``ObserverQueue``.
final class StateObserver<Model: Sendable>: StateObserving {
  enum Body: Sendable {
    case onMainActor(@MainActor @Sendable (LoadState<Model>) -> Void)
    /// A closure with an isolation of its own.
    case isolated(@isolated(any) @Sendable (LoadState<Model>) -> Void)
    /// Returns `false` to end the observation.
    case owned(@Sendable (LoadState<Model>) async -> Bool)
  }

  let id: FlightMachine.WaiterID
  let isolation: (any Actor)?
  private let body: Body
  private let hasEnded = Atomic(false)

  init(_ id: FlightMachine.WaiterID, isolation: (any Actor)?, _ body: Body) {
    self.id = id
    self.isolation = isolation
    self.body = body
  }

  func end() { hasEnded.store(true, ordering: .releasing) }

  func call(
    _ observers: [any StateObserving], with snapshot: KeySnapshot, _ engine: ReactorEngine,
    on isolation: isolated (any Actor)?
  ) async {
    await Self.call(observers, with: snapshot.shared(as: Model.self, engine), snapshot.key, engine, on: isolation)
  }

  private static func call(
    _ observers: [any StateObserving], with state: LoadState<Model>, _ key: RecordKey?, _ engine: ReactorEngine,
    on isolation: isolated (any Actor)?
  ) async {
    var index = 0
    while index < observers.count {
      let observer = typed(observers[index])
      switch observer.body {
      // One of those before it may have ended it.
      case _ where observer.isEnded: break
      case .onMainActor:
        index = callOnMainActor(observers, from: index, with: state)
        continue
      case .isolated(let body): await body(state)
      case .owned(let body): if await !body(state), let key { engine.unsubscribe(key, observer.id) }
      }
      index += 1
    }
  }

  /// Calls an observer of the main actor and those that follow it, on the main actor, where we are.
  /// To `await` each of them would be to look for the actor again.
  ///
  /// - Returns: the index of the first that is none.
  private static func callOnMainActor(
    _ observers: [any StateObserving], from first: Int, with state: LoadState<Model>
  ) -> Int {
    MainActor.assumeIsolated {
      var index = first
      while index < observers.count {
        let observer = typed(observers[index])
        guard case .onMainActor(let body) = observer.body else { break }
        if !observer.isEnded { body(state) }
        index += 1
      }
      return index
    }
  }

  /// A reactor has one type of models, and so have its observers.
  private static func typed(_ observer: any StateObserving) -> StateObserver {
    unsafeDowncast(observer, to: StateObserver.self)
  }

  private var isEnded: Bool { hasEnded.load(ordering: .acquiring) }
}

/// Calls observers, in one task for all that are isolated to the same actor, however many changes
/// they are due for.
///
/// A change tells it the keys and actors whose observers are due, and the task takes the states of
/// that moment. At most one such task runs for an actor, and one for all observers without an
/// isolation. So calls of an observer do not overlap, and none gets an older state.
final class ObserverQueue: Sendable {
  /// The keys whose observers are due, by actor. An actor has an entry while a task of its runs.
  private let due = Mutex<[ObjectIdentifier?: [RecordKey]]>([:])
  private let executor: (any TaskExecutor)?

  /// - Parameter executor: the executor of the tasks without an actor; `nil` for the global one.
  init(executor: (any TaskExecutor)?) { self.executor = executor }

  /// Calls the observers of `key` that are isolated to one of `actors`, soon.
  func call(_ actors: [(any Actor)?], of key: RecordKey, _ engine: ReactorEngine) {
    for isolation in actors {
      let actor = isolation.map { ObjectIdentifier($0) }
      let isRunning = due.withLock { due in
        guard let last = due[actor]?.last else {
          defer { due[actor] = [key] }
          return due[actor] != nil
        }
        // Many that begin to observe one key at once take their states together.
        if last != key { due[actor]?.append(key) }
        return true
      }
      if !isRunning { start(on: isolation) { await self.run(engine, on: $0) } }
    }
  }

  /// Calls an observer of a resource that has no states but its error.
  func refuse(_ observer: any StateObserving, _ snapshot: KeySnapshot, _ engine: ReactorEngine) {
    start(on: observer.isolation) { await observer.call([observer], with: snapshot, engine, on: $0) }
  }

  private func start(
    on isolation: (any Actor)?, _ operation: @escaping @Sendable (isolated (any Actor)?) async -> Void
  ) {
    let priority = max(Task.currentPriority, .medium)
    if isolation === MainActor.shared {
      // It begins there, without a thread of the pool in between.
      spawnOnMainActor(priority: priority) { await operation(MainActor.shared) }
    } else {
      _ = spawnApart(on: executor, priority: priority) { await operation(isolation) }
    }
  }

  private func run(_ engine: ReactorEngine, on isolation: isolated (any Actor)?) async {
    let actor = isolation.map { ObjectIdentifier($0) }
    while let keys = take(for: actor) {
      for key in keys {
        for offer in engine.takeOffers(of: key, for: actor) {
          await offer.readers.first?.call(offer.readers, with: offer.snapshot, engine, on: isolation)
        }
      }
      // Others of the actor have a turn, however often there are changes.
      await Task.yield()
    }
  }

  /// Returns the keys that are due; `nil` if there are none, which ends the task.
  private func take(for actor: ObjectIdentifier?) -> [RecordKey]? {
    due.withLock { due in
      guard let keys = due[actor], !keys.isEmpty else {
        due[actor] = nil
        return nil
      }
      due[actor] = []
      return keys
    }
  }
}
