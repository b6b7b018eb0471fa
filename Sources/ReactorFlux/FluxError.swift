/// A misuse of stores, events or logs, or the failure of a handler.
@nonexhaustive public enum FluxError: Error, Sendable {
  /// The dispatcher already has a store of that type.
  case alreadyRegistered(store: String)
  /// The store's context already belongs to a dispatcher: the same object was registered twice, or
  /// two stores share a context.
  case contextInUse(store: String)
  /// The dispatcher has no store of that type.
  case notRegistered(store: String)
  /// An event with that type of payload has an empty name.
  case emptyName(payload: String)
  /// The dispatcher knows an event of that name with the first type of payload. The second type was
  /// registered, dispatched or replayed.
  case conflictingPayloads(event: String, known: String, other: String)
  /// Stores wait for each other. The path begins and ends with the same store.
  case waitCycle(path: [String])
  /// `waitFor` was called outside of the handling of an action, or by a store that is not
  /// registered.
  case nothingToWaitFor(store: String)
  /// A handler threw an error. The other handlers ran.
  case handlerFailed(store: String, event: String, any Error)
  /// An action was dropped. It was the last of a chain of more than ``Dispatcher/maximumDepth``
  /// actions, each dispatched by the handling of the one before, or one dispatch led to more than
  /// 100,000 actions.
  ///
  /// Later actions of that kind are dropped too; the first of a run is reported.
  case tooDeep(event: String)
  /// The observers of a store changed it in each of ``Dispatcher/maximumDepth`` notifications. The
  /// last change remains, but no observer was notified of it.
  case changesWithoutEnd(store: String)
  /// The log was written in a version of the format that this library does not read.
  case unsupportedLogVersion(found: Int, supported: Int)
  /// The payload's type is not `Encodable`, so the log cannot be written, or not `Decodable`, so it
  /// cannot be read.
  case notCodable(event: String, payload: String)
  /// The log was recorded with stores that the dispatcher does not have. The names are their types'
  /// names.
  case missingStores([String])
  /// The recorder has no snapshot of that position in a log of `count` actions.
  case noSuchPosition(Int, count: Int)
  /// Replaying and restoring are impossible while an action is handled or observers are notified.
  case busy
  /// Another store is persisted under that name.
  case nameInUse(String)
  /// The persisted state of a store could not be decoded or migrated. Its file was renamed to
  /// `file`, and the store keeps its initial state.
  case stateSetAside(name: String, file: String, any Error)
  /// The persisted state of a store is of a later version of the program. Its file was renamed to
  /// `file`, and the store keeps its initial state.
  case stateTooNew(name: String, found: Int, supported: Int, file: String)
  /// The file of a store's state could not be read or renamed. It stays as it is, and the store is
  /// not saved until the next launch.
  case stateNotReadable(name: String, file: String, any Error)
  /// A store had changed before ``Dispatcher/persist(_:as:version:with:migrate:)`` restored it. Its
  /// saved state has replaced the changes.
  case stateReplaced(name: String)
  /// The state of a store could not be saved. Its next change tries again.
  case stateNotSaved(name: String, any Error)
}

extension FluxError: CustomStringConvertible {
  /// The problem in words, with the remedy where there is one.
  public var description: String {
    switch self {
    case .alreadyRegistered(let store): "\(store) is already registered; get it with store(_:)"
    case .contextInUse(let store):
      "the context of this \(store) already belongs to a dispatcher; make a new store with `let context = StoreContext()`"
    case .notRegistered(let store): "\(store) is not registered; call register(_:) first"
    case .emptyName(let payload): "an event with the payload \(payload) has an empty name; give it one"
    case .conflictingPayloads(let event, let known, let other):
      "the event \"\(event)\" has payload \(known), but is used here with \(other); rename one of the two events"
    case .waitCycle(let path):
      "stores wait for each other: \(path.joined(separator: " → ")); remove one of the calls of waitFor(_:)"
    case .nothingToWaitFor(let store):
      "\(store) called waitFor(_:) while no action was being handled; call it only in an action handler"
    case .handlerFailed(let store, let event, let error): "\(store) failed to handle \"\(event)\": \(error)"
    case .tooDeep(let event):
      "the action \"\(event)\" was dropped, because handlers dispatched more than \(Dispatcher.maximumDepth) actions in a row"
    case .changesWithoutEnd(let store):
      "the observers of \(store) change it at each call, and were stopped after \(Dispatcher.maximumDepth) calls; change a store only in its handlers"
    case .unsupportedLogVersion(let found, let supported):
      "the log has version \(found), but this library reads version \(supported); record it again"
    case .notCodable(let event, let payload):
      "the event \"\(event)\" has the payload \(payload), which is not Codable; a log needs Codable payloads"
    case .missingStores(let stores):
      "the log needs stores that are not registered; register them first: \(stores.joined(separator: ", "))"
    case .noSuchPosition(let position, let count):
      "a log of \(count) actions has no position \(position); use 0 to \(count)"
    case .busy: "an action is being handled; replay, travel or restore after it has been handled"
    case .nameInUse(let name): "another store is persisted as \"\(name)\"; give each store its own name"
    case .stateSetAside(let name, let file, let error):
      "the state \"\(name)\" could not be restored, and is now in \(file): \(error)"
    case .stateTooNew(let name, let found, let supported, let file):
      "the state \"\(name)\" has version \(found), but this program reads \(supported); it is now in \(file)"
    case .stateNotReadable(let name, let file, let error):
      "the state \"\(name)\" could not be read from \(file), and will not be saved: \(error)"
    case .stateReplaced(let name):
      "the saved state \"\(name)\" has replaced changes of the store; call persist(_:as:) before the first action"
    case .stateNotSaved(let name, let error): "the state \"\(name)\" could not be saved: \(error)"
    }
  }
}
