/// Owns the stores, and hands each action to those that handle its event.
///
/// ```
/// dispatch ─▶ middlewares, in order ─▶ handlers, in the order of registration ─▶ observers of the stores that changed
///    ▲                                    │ (waitFor: another store's first)          │
///    └── queued ◀─────────────────────────┴───────────────────────────────────────────┘
/// ```
///
/// ```swift
/// let dispatcher = Dispatcher()
/// try dispatcher.register(SessionStore.self)
/// dispatcher.dispatch(.userLoaded, user)
/// ```
///
/// All of it happens on the main actor, before `dispatch` returns. From elsewhere: `await dispatcher.dispatch(…)`, or ``post(_:)``.
/// A dispatch by a handler or an observer is queued, and handled when the present action is done and its changes are told.
@MainActor public final class Dispatcher {
  /// The program's own. Any number of others live beside it.
  public static let shared = Dispatcher()
  /// How many actions in a row may each be dispatched by the handling of the one before.
  public nonisolated static let maximumDepth = 100
  /// How many actions may be queued in one run, those of its first action aside: an end to actions that each dispatch several.
  nonisolated static let maximumQueued = 100_000

  /// Is called with what nobody can be thrown at: a handler that failed, an action that was dropped. By default a line on
  /// standard error.
  public var onFailure: @MainActor (FluxError) -> Void {
    get { run.onFailure }
    set {
      let before = run.onFailure
      run.onFailure = newValue
      // Released here and not within the access above: what it held may fail as it goes.
      withExtendedLifetime(before) {}
    }
  }
  /// While a log is replayed. What handlers and observers dispatch meanwhile is dropped: it is in the log. What they post is not, nor
  /// what comes of an effect that they begin: they must ask here.
  public internal(set) var isReplaying = false

  /// Every store, in the order of registration.
  public private(set) var stores: [any Store] = []
  private var storesByType: [ObjectIdentifier: any Store] = [:]
  let tables = HandlerTables()
  let run = DispatchRun()
  private var middlewares: [any Middleware] = []

  /// How many actions led to the present one.
  private var depth = 0
  private var queue: [(action: AnyAction, depth: Int)] = []
  /// In the present run, those that were handled included.
  private var queued = 0
  /// A Boolean value that indicates whether the present run has dropped an action, and so reported
  /// it.
  private var hasDropped = false
  /// Whose handlers are running.
  private var handling: HandlerTable?
  /// Stores whose handlers wait for another, outermost first.
  private var waiting: [any Store.Type] = []
  private nonisolated let posted = PostedActions()

  public init() { run.dispatcher = self }
}

// MARK: - Stores

extension Dispatcher {
  /// Makes the store, keeps it, and hands it actions from the next one on.
  ///
  /// - Throws: ``FluxError/alreadyRegistered(store:)``, ``FluxError/emptyName(payload:)``,
  ///   ``FluxError/conflictingPayloads(event:known:other:)``; nothing is registered then.
  public func register<S: PlainStore>(_ store: S.Type) throws(FluxError) { try register(store) { S() } }

  /// As ``register(_:)``, for a store that needs something to be made.
  ///
  /// - Parameter make: called once, and not at all where the store is refused for its type or its events.
  /// - Throws: and ``FluxError/contextInUse(store:)``.
  public func register<S: Store>(_ store: S.Type, make: () -> S) throws(FluxError) {
    let handlers = S.handlers
    try check(handlers)
    let made = make()
    // What `make` has registered meanwhile counts too.
    try check(handlers)
    guard !made.context.isOwned else { throw .contextInUse(store: typeName(S.self)) }
    made.context.join(self, run)
    storesByType[ObjectIdentifier(S.self)] = made
    stores.append(made)
    for handler in handlers { handler.attach(made, tables) }
  }

  private func check<S: Store>(_ handlers: [ActionHandler<S>]) throws(FluxError) {
    guard storesByType[ObjectIdentifier(S.self)] == nil else { throw .alreadyRegistered(store: typeName(S.self)) }
    try tables.check(handlers)
  }

  /// The store of that type, always the same.
  ///
  /// - Throws: ``FluxError/notRegistered(store:)``.
  public func store<S: Store>(_ store: S.Type) throws(FluxError) -> S {
    guard let found = storesByType[ObjectIdentifier(S.self)] as? S else {
      throw .notRegistered(store: typeName(S.self))
    }
    return found
  }

  /// Calls `body` after each change of any store, as ``Store/observe(_:_:)`` does for one, and after its observers.
  @discardableResult
  public func observe(
    _ owner: AnyObject, _ body: @escaping @MainActor (_ store: any Store, _ error: (any Error)?) -> Void
  ) -> ChangeToken {
    run.observers.add(owner) { body($1, $2) }
  }
}

// MARK: - Dispatching

extension Dispatcher {
  /// Hands an action to the stores that handle its event; to none where no store does.
  ///
  /// An event whose payload's type is not the one that its name is registered with, and one without a name, is reported to
  /// ``onFailure``, and no handler runs.
  @inlinable public func dispatch<Payload>(_ action: Action<Payload>) {
    guard let table = begin(action.event.name, Payload.self) else { return dispatch(AnyAction(action)) }
    handle(action, table)
    finish()
  }

  /// An action whose payload's type is not known here, as from a log.
  public func dispatch(_ action: AnyAction) {
    guard !run.isBusy else { return enqueue(action) }
    consumePosted()
    start(action)
  }

  @inlinable public func dispatch<Payload>(_ event: Event<Payload>, _ payload: Payload) {
    dispatch(Action(event, payload))
  }

  @inlinable public func dispatch(_ event: Event<Void>) { dispatch(Action(event, ())) }

  @inlinable public func dispatch<Payload>(_ event: Event<Payload>, error: any Error) {
    dispatch(Action(event, error: error))
  }

  /// Runs `effect`, and dispatches what it gives, or what it throws, as one action.
  ///
  /// Nothing is dispatched when the task was cancelled, whatever `effect` made of it, and when it throws `CancellationError`.
  ///
  /// - Parameter effect: runs on the main actor up to what it awaits.
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

  /// Adds a middleware, which every later action passes after those that were added before.
  public func use(_ middleware: some Middleware) { middlewares.append(middleware) }

  /// Begins a run where nothing but the event's handlers is concerned.
  @usableFromInline func begin(_ event: String, _ payload: any Any.Type) -> HandlerTable? {
    guard !run.isBusy, middlewares.isEmpty, posted.isEmpty else { return nil }
    guard let table = tables.table(event, payload) else { return nil }
    run.isBusy = true
    return table
  }

  /// Runs the handlers.
  @inlinable func handle<Payload>(_ action: Action<Payload>, _ table: HandlerTable) {
    // Its table was asked for with this type. A dynamic cast costs as much as the rest.
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

  /// Tells what has changed, and does the same for each action that was queued meanwhile.
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
      // Out of the queue before they are released: a payload that goes may dispatch.
      let actions = queue
      queue = []
      for (action, depth) in actions {
        self.depth = depth
        pass(action)
        run.notifyChanges()
      }
    }
    depth = 0
    queued = 0
    hasDropped = false
  }

  private func enqueue(_ action: AnyAction) {
    guard !isReplaying else { return }
    guard depth < Self.maximumDepth, depth == 0 || queued < Self.maximumQueued else { return drop(action) }
    queued += 1
    queue.append((action, depth + 1))
  }

  private func drop(_ action: AnyAction) {
    guard !hasDropped else { return }
    // First, since who is told may dispatch.
    hasDropped = true
    onFailure(.tooDeep(event: action.name))
  }

  private func pass(_ action: AnyAction) { pass(action, middlewares[...]) }

  private func pass(_ action: AnyAction, _ rest: ArraySlice<any Middleware>) {
    guard let first = rest.first else { return action.base.handle(in: self) }
    first.handle(action, in: self) { pass($0, rest.dropFirst()) }
  }
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
  /// Dispatches the action on the main actor, soon: after those that were posted before, and before whatever is dispatched there later.
  /// What handlers and observers dispatch comes first: they are in the run of the action before.
  ///
  /// From any isolation, without waiting. The dispatcher lives until it is done.
  public nonisolated func post<Payload>(_ action: Action<Payload>) {
    if posted.append(AnyAction(action)) { Task { @MainActor in consumePosted() } }
  }

  public nonisolated func post<Payload>(_ event: Event<Payload>, _ payload: Payload) { post(Action(event, payload)) }

  public nonisolated func post(_ event: Event<Void>) { post(Action(event, ())) }

  public nonisolated func post<Payload>(_ event: Event<Payload>, error: any Error) { post(Action(event, error: error)) }

  /// Those that are posted meanwhile come later: they must not overtake the rest of these.
  private func consumePosted() {
    for action in posted.take() { run.isBusy ? enqueue(action) : start(action) }
  }
}

// MARK: - From outside of a run

extension Dispatcher {
  /// Changes stores, and tells the changes.
  ///
  /// - Throws: ``FluxError/busy``.
  func alone(_ body: () -> Void) throws(FluxError) {
    guard !run.isBusy else { throw .busy }
    run.isBusy = true
    body()
    finish()
  }
}
