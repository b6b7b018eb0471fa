/// The actions that were dispatched, in order, and the stores that were there.
///
/// Replayed into a fresh dispatcher with the same stores, it gives the same state, as far as the handlers ask nothing but the action and
/// the stores. A store that was registered in between gets the earlier actions too:
///
/// ```swift
/// let fresh = Dispatcher()
/// try fresh.register(SessionStore.self)
/// try fresh.replay(recorder.log)
/// ```
public struct ActionLog: Sendable {
  /// The version that ``encode(to:)`` writes, and the only one that ``init(from:)`` reads.
  public static let version = 1

  public internal(set) var actions: [AnyAction] = []
  /// Type names of the stores, in the order of registration.
  public internal(set) var stores: [String] = []

  public init() {}
}

extension Dispatcher {
  /// Hands the log's actions to the stores, past the middlewares. Changes are told after each.
  ///
  /// What handlers and observers dispatch meanwhile is dropped, since the log has it; see ``isReplaying``. An action that no
  /// store handles does nothing.
  ///
  /// - Throws: ``FluxError/missingStores(_:)``, ``FluxError/conflictingPayloads(event:known:other:)``, ``FluxError/emptyName(payload:)``,
  ///   ``FluxError/busy``; nothing was replayed then.
  public func replay(_ log: ActionLog) throws(FluxError) {
    let here = Set(stores.map { typeName(type(of: $0)) })
    let missing = log.stores.filter { !here.contains($0) }
    guard missing.isEmpty else { throw .missingStores(missing) }
    for action in log.actions { try tables.check(action.name, action.payloadType) }
    try alone {
      isReplaying = true
      for action in log.actions {
        action.base.handle(in: self)
        run.notifyChanges()
      }
      isReplaying = false
    }
  }
}
