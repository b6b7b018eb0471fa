import Synchronization

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
    /// A closure with its own isolation.
    case isolated(@isolated(any) @Sendable (LoadState<Model>) -> Void)
    /// Returns `false` to end the observation. It gets the observer's actor, so that a call there
    /// does not suspend.
    case owned(@Sendable (LoadState<Model>, isolated (any Actor)?) async -> Bool)
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
      // An earlier observer may have ended it.
      case _ where observer.isEnded: break
      case .onMainActor:
        index = callOnMainActor(observers, from: index, with: state)
        continue
      case .isolated(let body): await body(state)
      case .owned(let body): if await !body(state, isolation), let key { engine.unsubscribe(key, observer.id) }
      }
      index += 1
    }
  }

  /// Calls an observer of the main actor and the ones that follow it, on the main actor, which
  /// already runs this. An `await` for each would hop to the actor again.
  ///
  /// - Returns: the index of the first observer that is not of the main actor.
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
/// A change passes it the keys and actors whose observers are due, and the task takes the current
/// states. Only one task at a time makes calls for an actor, and one for all observers without an
/// isolation. So calls of an observer do not overlap, and states never go back.
///
/// On the main actor, a change during such a task starts another one, which is then enqueued before
/// the caller of the change continues. So code of the main actor that awaited the change, such as a
/// refused write, runs after the observers.
final class ObserverQueue: Sendable {
  /// The observers of an actor that are due.
  private struct Due {
    var keys: [RecordKey] = []
    /// A Boolean value that indicates whether a task is about to begin, or to continue, and will
    /// take the keys.
    var isStarting = true
    /// A Boolean value that indicates whether a task makes calls.
    var isCalling = false
  }

  /// An actor has an entry while a task of its runs.
  private let due = Mutex<[ObjectIdentifier?: Due]>([:])
  private let executor: (any TaskExecutor)?

  /// - Parameter executor: the executor of the tasks without an actor; `nil` for the global one.
  init(executor: (any TaskExecutor)?) { self.executor = executor }

  /// Calls the observers of `key` that are isolated to one of `actors`, soon.
  func call(_ actors: [(any Actor)?], of key: RecordKey, _ engine: ReactorEngine) {
    for isolation in actors {
      let actor = isolation.map { ObjectIdentifier($0) }
      let mustStart = due.withLock { due in
        guard due[actor] != nil else {
          due[actor] = Due(keys: [key])
          return true
        }
        // Many that begin to observe one key at once take their states together.
        if due[actor]?.keys.last != key { due[actor]?.keys.append(key) }
        guard isolation === MainActor.shared, due[actor]?.isStarting == false else { return false }
        due[actor]?.isStarting = true
        return true
      }
      if mustStart { start(on: isolation) { await self.run(engine, on: $0) } }
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
    while let keys = begin(for: actor) {
      for key in keys {
        for offer in engine.takeOffers(of: key, for: actor) {
          await offer.readers.first?.call(offer.readers, with: offer.snapshot, engine, on: isolation)
        }
      }
      guard continues(for: actor) else { return }
      // Others of the actor have a turn, however often there are changes.
      await Task.yield()
    }
  }

  /// Returns the keys that are due; `nil` if no key is due, or another task makes calls, which
  /// then takes the keys.
  private func begin(for actor: ObjectIdentifier?) -> [RecordKey]? {
    due.withLock { due in
      guard var own = due[actor] else { return nil }
      own.isStarting = false
      guard !own.isCalling else {
        due[actor] = own
        return nil
      }
      let keys = own.keys
      (own.keys, own.isCalling) = ([], true)
      due[actor] = keys.isEmpty ? nil : own
      return keys.isEmpty ? nil : keys
    }
  }

  /// Ends the calls of a task.
  ///
  /// - Returns: `false` if no key is due, or a task that was created meanwhile takes those that
  ///   are.
  private func continues(for actor: ObjectIdentifier?) -> Bool {
    due.withLock { due in
      guard var own = due[actor] else { return false }
      own.isCalling = false
      let continues = !own.isStarting && !own.keys.isEmpty
      if continues { own.isStarting = true }
      due[actor] = own.isStarting ? own : nil
      return continues
    }
  }
}
