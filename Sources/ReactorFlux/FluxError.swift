/// What is wrong with a store, an event, a log, or what a handler did.
@nonexhaustive public enum FluxError: Error, Sendable {
  /// The dispatcher has a store of that type.
  case alreadyRegistered(store: String)
  /// The store's context belongs to a dispatcher already: one object was registered twice, or two stores share a context.
  case contextInUse(store: String)
  /// The dispatcher has no store of that type.
  case notRegistered(store: String)
  /// An event without a name, of that type of payload.
  case emptyName(payload: String)
  /// An event of that name carries the first type here; the second was registered or dispatched.
  case conflictingPayloads(event: String, known: String, other: String)
  /// Stores that wait for each other. The path begins and ends with the same store.
  case waitCycle(path: [String])
  /// `waitFor` was called while no action is being handled, or by a store that is not registered.
  case nothingToWaitFor(store: String)
  /// A handler threw; the other handlers ran.
  case handlerFailed(store: String, event: String, any Error)
  /// An action that was dispatched by the handling of an action, and so on, more than ``Dispatcher/maximumDepth``
  /// times; or one of more than 100,000 that one dispatch led to. It was dropped, and so are those like it; the first of a run is reported.
  case tooDeep(event: String)
  /// A store whose observers change it, each time they are called, ``Dispatcher/maximumDepth`` times. The change is there; nobody was told.
  case changesWithoutEnd(store: String)
  /// The log was written by another version of this library.
  case unsupportedLogVersion(found: Int, supported: Int)
  /// The payload's type is not `Codable`, so that the log cannot be written.
  case notCodable(event: String, payload: String)
  /// The log was recorded with stores that the dispatcher does not have.
  case missingStores([String])
  /// There is no such place in the log.
  case noSuchPosition(Int, count: Int)
  /// It cannot be done while an action is being handled or a change is being told.
  case busy
}

extension FluxError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .alreadyRegistered(let store): "\(store) is registered already; look it up with store(_:)"
    case .contextInUse(let store):
      "the context of this \(store) belongs to a dispatcher already; make a new store, with `let context = StoreContext()`"
    case .notRegistered(let store): "\(store) is not registered; call register(_:) first"
    case .emptyName(let payload): "an event with the payload \(payload) has an empty name"
    case .conflictingPayloads(let event, let known, let other):
      "the event \"\(event)\" carries \(known), and here \(other); give one of the two another name"
    case .waitCycle(let path): "stores wait for each other: \(path.joined(separator: " → "))"
    case .nothingToWaitFor(let store):
      "\(store) waits for another store, and no action is being handled; call waitFor(_:) in a handler only"
    case .handlerFailed(let store, let event, let error): "\(store) failed to handle \"\(event)\": \(error)"
    case .tooDeep(let event):
      "the action \"\(event)\" was dropped: the handling of each action dispatches more, \(Dispatcher.maximumDepth) in a row or too many"
    case .changesWithoutEnd(let store):
      "the observers of \(store) change it each time they are called; they were called \(Dispatcher.maximumDepth) times"
    case .unsupportedLogVersion(let found, let supported):
      "the log has version \(found), and this library reads version \(supported)"
    case .notCodable(let event, let payload):
      "the log cannot be written: the payload of \"\(event)\", \(payload), is not Codable"
    case .missingStores(let stores):
      "the log was recorded with stores that are not registered: \(stores.joined(separator: ", "))"
    case .noSuchPosition(let position, let count): "there is no position \(position) in a log of \(count) actions"
    case .busy: "an action is being handled; replay and travel when it is done"
    }
  }
}
