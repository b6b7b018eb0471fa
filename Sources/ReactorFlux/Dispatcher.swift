/// Owns the stores, and passes each action to the stores that handle its event.
///
/// ```
/// dispatch ─▶ middlewares ─▶ handlers, in order of registration ─▶ observers of changed stores
///    ▲                          │ (waitFor: another store's first)      │
///    └── queued ◀───────────────┴───────────────────────────────────────┘
/// ```
///
/// ```swift
/// let dispatcher = Dispatcher()
/// try dispatcher.register(SessionStore.self)
/// dispatcher.dispatch(.userLoaded, user)
/// ```
///
/// Everything runs on the main actor, before `dispatch` returns. From another isolation, call
/// `await dispatcher.dispatch(…)` or ``post(_:)``.
///
/// A dispatch by a handler or an observer is queued. It is handled after the current action, once
/// the observers have been notified of that action's changes.
@MainActor public final class Dispatcher {
  /// A dispatcher for the whole program. You can create any number of others.
  public static let shared = Dispatcher()
  /// The largest length of a chain in which the handling of each action dispatches the next: 100.
  public nonisolated static let maximumDepth = 100
  /// The largest number of actions that one run queues, beyond the actions that its first action
  /// dispatches. It ends a run in which each action dispatches several.
  nonisolated static let maximumQueued = 100_000

  /// A closure that is called with the errors that cannot be thrown: a handler that failed, or an
  /// action that was dropped. Default: writes a line to standard error.
  ///
  /// ```swift
  /// dispatcher.onFailure = { error in logger.error("\(error)") }
  /// ```
  public var onFailure: @MainActor (FluxError) -> Void {
    get { run.onFailure }
    set {
      let before = run.onFailure
      run.onFailure = newValue
      // Released here, not within the access above: releasing the old closure may report a failure.
      withExtendedLifetime(before) {}
    }
  }
  /// A Boolean value that indicates whether a log is being replayed or a snapshot restored.
  ///
  /// Actions that handlers and observers dispatch meanwhile are dropped, since the log contains
  /// them. Actions that they post are not dropped; handlers that post have to check this property.
  /// An effect starts while a snapshot is restored, and not while a log is replayed.
  public internal(set) var isReplaying = false
  /// A Boolean value that indicates whether a log is being replayed, which starts no effects.
  var isReplayingLog = false

  /// The registered stores, in the order of registration.
  public private(set) var stores: [any Store] = []
  private var storesByType: [ObjectIdentifier: any Store] = [:]
  let tables = HandlerTables()
  let run = DispatchRun()
  let effects = EffectTable()
  private var middlewares: [any Middleware] = []

  /// The number of actions in the chain that led to the current one.
  private var depth = 0
  private var queue: [QueuedAction] = []
  /// The actions of the batch that is being collected; `nil` outside of one.
  private var batch: [AnyAction]?
  /// The number of actions queued in the current run, including those already handled.
  private var queued = 0
  /// A Boolean value that indicates whether the current run has dropped an action, and reported it.
  private var hasDropped = false
  /// The table whose handlers are running.
  private var handling: HandlerTable?
  /// The stores whose handlers wait for another store, outermost first.
  private var waiting: [any Store.Type] = []
  private nonisolated let posted = PostedActions()

  /// Creates a dispatcher without stores or middlewares.
  public init() { run.dispatcher = self }
}

// MARK: - Stores

extension Dispatcher {
  /// Creates a store and registers it: the dispatcher retains it, and passes it every later action
  /// that it handles.
  ///
  /// ```swift
  /// try dispatcher.register(Session.self)
  /// ```
  ///
  /// - Throws: ``FluxError/alreadyRegistered(store:)``, ``FluxError/emptyName(payload:)`` or
  ///   ``FluxError/conflictingPayloads(event:known:other:)``. The store is then not registered.
  public func register<S: PlainStore>(_ store: S.Type) throws(FluxError) { try register(store) { S() } }

  /// Creates a store that needs arguments, and registers it as ``register(_:)`` does.
  ///
  /// ```swift
  /// try dispatcher.register(Session.self) { Session(keychain: keychain) }
  /// ```
  ///
  /// - Parameter make: A closure that creates the store. It is called once, but not if the store is
  ///   refused for its type or its events.
  /// - Throws: The errors of ``register(_:)``, and ``FluxError/contextInUse(store:)``.
  public func register<S: Store>(_ store: S.Type, make: () -> S) throws(FluxError) {
    let handlers = S.handlers
    try check(handlers)
    let made = make()
    // Again, since `make` may have registered stores.
    try check(handlers)
    guard !made.context.isOwned else { throw .contextInUse(store: typeName(S.self)) }
    made.context.join(self, run, initial: (made as? any Snapshotting)?.anySnapshot)
    storesByType[ObjectIdentifier(S.self)] = made
    stores.append(made)
    for handler in handlers { handler.attach(made, tables) }
  }

  private func check<S: Store>(_ handlers: [ActionHandler<S>]) throws(FluxError) {
    guard storesByType[ObjectIdentifier(S.self)] == nil else { throw .alreadyRegistered(store: typeName(S.self)) }
    try tables.check(handlers)
  }

  /// Returns the registered store of a type.
  ///
  /// ```swift
  /// let name = try dispatcher.store(Session.self).name
  /// ```
  ///
  /// - Throws: ``FluxError/notRegistered(store:)``.
  public func store<S: Store>(_ store: S.Type) throws(FluxError) -> S {
    guard let found = storesByType[ObjectIdentifier(S.self)] as? S else {
      throw .notRegistered(store: typeName(S.self))
    }
    return found
  }
}

// MARK: - Dispatching

extension Dispatcher {
  /// Dispatches an action to the stores that handle its event; to none if no store does.
  ///
  /// An event without a name, or whose name is registered with another type of payload, is reported
  /// to ``onFailure``, and no handler runs.
  @inlinable public func dispatch<Payload>(_ action: Action<Payload>) {
    guard let table = begin(action.event.name, Payload.self) else { return dispatch(AnyAction(action)) }
    handle(action, table)
    finish()
  }

  /// Dispatches an action without its payload's static type, for example from a log.
  public func dispatch(_ action: AnyAction) {
    guard !run.isBusy else { return enqueue(action) }
    consumePosted()
    start(action)
  }

  /// Dispatches an event with a payload, as an action.
  ///
  /// ```swift
  /// dispatcher.dispatch(.signedIn, "Ada")
  /// ```
  @inlinable public func dispatch<Payload>(_ event: Event<Payload>, _ payload: Payload) {
    dispatch(Action(event, payload))
  }

  /// Dispatches an event without a payload, as an action.
  @inlinable public func dispatch(_ event: Event<Void>) { dispatch(Action(event, ())) }

  /// Dispatches an event with an error in place of its payload, as an action.
  @inlinable public func dispatch<Payload>(_ event: Event<Payload>, error: any Error) {
    dispatch(Action(event, error: error))
  }

  /// Runs `effect`, and dispatches its result, or the error that it throws, as one action.
  ///
  /// Nothing is dispatched if the task was cancelled, whatever the result of `effect`, or if
  /// `effect` throws `CancellationError`.
  ///
  /// - Parameter effect: The work. It runs on the main actor until its first suspension.
  public func dispatch<Payload>(_ event: Event<Payload>, from effect: @Sendable () async throws -> Payload) async {
    let action: Action<Payload>
    do {
      action = Action(event, try await effect())
    } catch is CancellationError {
      return
    } catch {
      action = Action(event, error: error)
    }
    guard !Task.isCancelled else { return }
    dispatch(action)
  }

  /// Adds a middleware. Later actions pass it after the middlewares that were added before.
  ///
  /// ```swift
  /// dispatcher.use(ActionLogger { line in print(line) })
  /// ```
  public func use(_ middleware: some Middleware) { middlewares.append(middleware) }

  /// Begins a run on the fast path, which needs no middlewares, no posted actions and no run in
  /// progress.
  ///
  /// - Returns: The handlers of the event; `nil` if the fast path does not apply, or no store
  ///   handles the event with that payload.
  @usableFromInline func begin(_ event: String, _ payload: any Any.Type) -> HandlerTable? {
    guard !run.isBusy, middlewares.isEmpty, posted.isEmpty else { return nil }
    guard let table = tables.table(event, payload) else { return nil }
    run.isBusy = true
    return table
  }

  /// Runs the handlers of an action.
  @inlinable func handle<Payload>(_ action: Action<Payload>, _ table: HandlerTable) {
    // The table was looked up with this type. A dynamic cast would cost as much as the rest.
    let box = unsafeDowncast(table.box, to: ActionBox<Payload>.self)
    box.action = action
    runHandlers(table)
    box.action = nil
  }

  @usableFromInline func runHandlers(_ table: HandlerTable) {
    handling = table
    table.run(self)
    handling = nil
  }

  /// Notifies observers, then handles the queued actions in the same way, and ends the run.
  @usableFromInline func finish() {
    run.notifyChanges()
    if !queue.isEmpty { runQueue() }
    run.isBusy = false
  }

  private func start(_ action: AnyAction) {
    run.isBusy = true
    pass(action)
    finish()
  }

  private func runQueue() {
    while !queue.isEmpty {
      // Taken out of the queue before they are released, since releasing a payload may dispatch.
      let actions = queue
      queue = []
      for queued in actions {
        depth = queued.depth
        pass(queued.action)
        if queued.endsBatch { run.notifyChanges() }
      }
      // The end of a batch may have been dropped.
      run.notifyChanges()
    }
    depth = 0
    queued = 0
    hasDropped = false
  }

  private func enqueue(_ action: AnyAction, endsBatch: Bool = true) {
    guard !isReplaying else { return }
    if batch?.append(action) != nil { return }
    guard depth < Self.maximumDepth, depth == 0 || queued < Self.maximumQueued else { return drop(action) }
    queued += 1
    queue.append(QueuedAction(action: action, depth: depth + 1, endsBatch: endsBatch))
  }

  private func drop(_ action: AnyAction) {
    guard !hasDropped else { return }
    // First, since the closure may dispatch.
    hasDropped = true
    onFailure(.tooDeep(event: action.name))
  }

  private func pass(_ action: AnyAction) { pass(action, middlewares[...]) }

  private func pass(_ action: AnyAction, _ rest: ArraySlice<any Middleware>) {
    guard let first = rest.first else { return action.base.handle(in: self) }
    first.handle(action, in: self) { pass($0, rest.dropFirst()) }
  }
}

// MARK: - Several actions as one change

extension Dispatcher {
  /// Dispatches the actions that `body` dispatches as one change: their handlers run in order, and
  /// then each observer is called once for a store that has changed.
  ///
  /// ```swift
  /// dispatcher.batch {
  ///   dispatcher.dispatch(.userLoaded, user)
  ///   dispatcher.dispatch(.signedIn)
  /// }
  /// ```
  ///
  /// The actions are handled when `body` returns, so it sees the stores as they were before. If it
  /// throws, none of them is handled. Each action passes the middlewares, and what they and the
  /// handlers dispatch is handled after the batch. A batch within a batch is part of the outer one.
  ///
  /// Within a handler or an observer, the whole batch is queued like an action, and handled later
  /// as one change.
  ///
  /// - Throws: The error that `body` throws.
  public func batch<Failure>(_ body: () throws(Failure) -> Void) throws(Failure) {
    guard batch == nil else { return try body() }
    let isOutermost = !run.isBusy
    if isOutermost {
      consumePosted()
      run.isBusy = true
    }
    batch = []
    var failure: Failure?
    do { try body() } catch { failure = error }
    let actions = batch.take() ?? []
    if failure == nil {
      for (index, action) in actions.enumerated() {
        isOutermost ? pass(action) : enqueue(action, endsBatch: index == actions.count - 1)
      }
    }
    if isOutermost { finish() }
    if let failure { throw failure }
  }
}

/// An action that waits until the current one is handled.
struct QueuedAction {
  let action: AnyAction
  let depth: Int
  /// `false` for an action of a batch that another one follows. Observers are then notified later.
  let endsBatch: Bool
}

// MARK: - Waiting

extension Dispatcher {
  func wait(_ waiter: any Store.Type, for other: any Store.Type) throws(FluxError) {
    guard storesByType[ObjectIdentifier(other)] != nil else { throw .notRegistered(store: typeName(other)) }
    guard let handling else { throw .nothingToWaitFor(store: typeName(waiter)) }
    waiting.append(waiter)
    defer { waiting.removeLast() }
    guard handling.runHandlers(of: other, self) else {
      let path = waiting.drop { $0 != other } + [other]
      throw .waitCycle(path: path.map(typeName))
    }
  }
}

// MARK: - From other isolations

extension Dispatcher {
  /// Dispatches an action on the main actor later, from any isolation, without waiting.
  ///
  /// Posted actions are handled in the order of their posting, and before any action that is
  /// dispatched on the main actor after them. Actions that a current run's handlers and observers
  /// dispatch belong to that run, and come first.
  ///
  /// The dispatcher is retained until the action is handled.
  public nonisolated func post<Payload>(_ action: Action<Payload>) {
    if posted.append(AnyAction(action)) { Task { @MainActor in consumePosted() } }
  }

  /// Posts an event with a payload, as an action; from any isolation, without waiting.
  ///
  /// ```swift
  /// dispatcher.post(.signedIn, "Ada")  // from any isolation
  /// ```
  public nonisolated func post<Payload>(_ event: Event<Payload>, _ payload: Payload) { post(Action(event, payload)) }

  /// Posts an event without a payload, as an action; from any isolation, without waiting.
  public nonisolated func post(_ event: Event<Void>) { post(Action(event, ())) }

  /// Posts an event with an error in place of its payload, as an action; from any isolation,
  /// without waiting.
  public nonisolated func post<Payload>(_ event: Event<Payload>, error: any Error) { post(Action(event, error: error)) }

  /// Handles the posted actions. Actions that are posted meanwhile wait, so as not to overtake the
  /// rest.
  func consumePosted() {
    for action in posted.take() { run.isBusy ? enqueue(action) : start(action) }
  }
}

// MARK: - From outside of a run

extension Dispatcher {
  /// Changes stores outside of a run, and notifies observers.
  ///
  /// - Throws: ``FluxError/busy``.
  func alone(_ body: () -> Void) throws(FluxError) {
    guard !run.isBusy else { throw .busy }
    run.isBusy = true
    body()
    finish()
  }
}
