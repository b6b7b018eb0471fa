extension Dispatcher {
  /// Calls `body` after each change of any store, and after that store's own observers.
  ///
  /// The observation ends as described for ``Store/observe(_:id:initially:_:)``.
  ///
  /// - Parameter id: With an id, the observation replaces the owner's earlier one with that id.
  @discardableResult
  public func observe(
    _ owner: AnyObject, id: AnyHashable? = nil,
    _ body: @escaping @MainActor (_ store: any Store, _ error: (any Error)?) -> Void
  ) -> ChangeToken {
    run.observers.add(owner, id: id) { body($1, $2) }
  }

  /// Calls `body` with several stores: at once, and then after each action by which at least one of
  /// them has changed. It is called once, however many have.
  ///
  /// ```swift
  /// try dispatcher.observe(self, Session.self, Drafts.self) { screen, session, drafts in
  ///   screen.show(session.user, drafts.count)
  /// }
  /// ```
  ///
  /// It runs on the main actor, after the observers of the single stores. The observation ends as
  /// described for ``Store/observe(_:id:initially:_:)``.
  ///
  /// - Parameters:
  ///   - id: With an id, the observation replaces the owner's earlier one of a group with that id.
  ///   - initially: `false` to wait for the first change. Default: `true`.
  /// - Throws: ``FluxError/notRegistered(store:)``.
  @discardableResult
  public func observe<Owner: AnyObject, First: Store, Second: Store, each Other: Store>(
    _ owner: Owner, _ first: First.Type, _ second: Second.Type, _ others: repeat (each Other).Type,
    id: AnyHashable? = nil, initially: Bool = true,
    with body: @escaping @MainActor (_ owner: Owner, _ first: First, _ second: Second, repeat each Other) -> Void
  ) throws(FluxError) -> ChangeToken {
    let group = (try store(first), try store(second))
    let rest = (repeat try store(each others))
    var types: [any Store.Type] = [first, second]
    for other in repeat each others { types.append(other) }
    // The dispatcher retains the stores, and the closure: which must not retain them.
    let token = run.groups.add(owner, id: id, of: types) { [weak self] owner, _, _ in
      guard let self else { return }
      do throws(FluxError) {
        // As in `Store.observe(_:id:initially:with:)`.
        body(
          unsafeDowncast(owner, to: Owner.self), try store(first), try store(second), repeat try store(each others))
      } catch { onFailure(error) }
    }
    if initially { run.perform { body(owner, group.0, group.1, repeat each rest) } }
    return token
  }

  /// Creates several stores and registers them in this order, as ``register(_:)`` does: all of
  /// them, or none.
  ///
  /// ```swift
  /// try dispatcher.register(Session.self, Drafts.self, Settings.self)
  /// ```
  ///
  /// - Throws: The errors of ``register(_:)``, before any store is created.
  public func register<First: PlainStore, Second: PlainStore, each Other: PlainStore>(
    _ first: First.Type, _ second: Second.Type, _ others: repeat (each Other).Type
  ) throws(FluxError) {
    var group = GroupToRegister(self)
    try group.check(first)
    try group.check(second)
    for other in repeat each others { try group.check(other) }
    try register(first)
    try register(second)
    for other in repeat each others { try register(other) }
  }
}

extension Store {
  /// Lets several stores handle the current action first, in this order, as ``waitFor(_:)`` does.
  ///
  /// ```swift
  /// try store.waitFor(Session.self, Drafts.self)
  /// ```
  ///
  /// - Throws: The errors of ``waitFor(_:)``.
  public func waitFor<First: Store, Second: Store, each Other: Store>(
    _ first: First.Type, _ second: Second.Type, _ others: repeat (each Other).Type
  ) throws(FluxError) {
    try waitFor(first)
    try waitFor(second)
    for other in repeat each others { try waitFor(other) }
  }
}

/// The stores that are to be registered together, as far as they were checked.
@MainActor private struct GroupToRegister {
  private let tables: HandlerTables
  private var stores: Set<ObjectIdentifier>
  private var payloads: [String: any Any.Type]

  init(_ dispatcher: Dispatcher) {
    tables = dispatcher.tables
    stores = Set(dispatcher.stores.map { ObjectIdentifier(type(of: $0)) })
    payloads = dispatcher.tables.payloads
  }

  mutating func check<S: Store>(_ store: S.Type) throws(FluxError) {
    guard stores.insert(ObjectIdentifier(S.self)).inserted else { throw .alreadyRegistered(store: typeName(S.self)) }
    try tables.check(S.handlers, &payloads)
  }
}
