/// A record of dispatched actions, in order, and of the stores that were registered.
///
/// Replaying it into a new dispatcher with the same stores yields the same state, if the handlers
/// use nothing but the action and the stores. A store that was registered between two actions then
/// gets the earlier actions too:
///
/// ```swift
/// let fresh = Dispatcher()
/// try fresh.register(SessionStore.self)
/// try fresh.replay(recorder.log)
/// ```
public struct ActionLog: Sendable {
  /// The version that ``encode(to:)`` writes, and the only version that ``init(from:)`` reads.
  public static let version = 1

  /// The actions, in the order in which they were dispatched.
  public internal(set) var actions: [AnyAction] = []
  /// The type names of the stores, in the order of registration.
  public internal(set) var stores: [String] = []

  /// Creates an empty log.
  public init() {}
}

extension Dispatcher {
  /// Replays a log: passes its actions to the stores, without the middlewares. Observers are
  /// notified after each action.
  ///
  /// ```swift
  /// let decoder = JSONDecoder()
  /// decoder.userInfo = dispatcher.decodingInfo
  /// try dispatcher.replay(decoder.decode(ActionLog.self, from: data))
  /// ```
  ///
  /// Actions that handlers and observers dispatch meanwhile are dropped, since the log contains
  /// them; see ``isReplaying``. An action that no store handles has no effect.
  ///
  /// - Throws: ``FluxError/missingStores(_:)``,
  ///   ``FluxError/conflictingPayloads(event:known:other:)``, ``FluxError/emptyName(payload:)`` or
  ///   ``FluxError/busy``, before anything is replayed.
  public func replay(_ log: ActionLog) throws(FluxError) {
    let here = Set(stores.map { typeName(type(of: $0)) })
    let missing = log.stores.filter { !here.contains($0) }
    guard missing.isEmpty else { throw .missingStores(missing) }
    for action in log.actions { try tables.check(action.name, action.payloadType) }
    try alone {
      isReplaying = true
      isReplayingLog = true
      for action in log.actions {
        action.base.handle(in: self)
        run.notifyChanges()
      }
      isReplaying = false
      isReplayingLog = false
    }
  }
}
