/// The handlers of one event, in the order in which their stores were registered.
///
/// It is not generic, so that its loop is compiled once. The closures know the payload's type, and
/// read the action from ``box``.
@MainActor @usableFromInline final class HandlerTable {
  private final class Entry {
    let store: any Store.Type
    let run: @MainActor () throws -> Void
    /// The numbers of the table's runs in which this handler last began and last ended.
    var begun: Int
    var ended: Int

    init(_ store: any Store.Type, after runs: Int, _ run: @escaping @MainActor () throws -> Void) {
      self.store = store
      self.run = run
      begun = runs
      ended = runs
    }
  }

  let event: String
  let payload: any Any.Type
  /// The ``ActionBox`` of that payload type.
  @usableFromInline let box: AnyObject
  let decode: PayloadDecoding
  private var entries: [Entry] = []
  private var runs = 0

  init<Payload>(_ event: Event<Payload>) {
    self.event = event.name
    payload = Payload.self
    box = ActionBox<Payload>()
    decode = LoggedAction.decoding(event)
  }

  func add(_ store: any Store.Type, _ run: @escaping @MainActor () throws -> Void) {
    // A store that a handler registers gets its first action after the current one, even if another
    // store waits for it now.
    entries.append(Entry(store, after: runs, run))
  }

  /// Runs each handler once, for the action in the box. It is not re-entrant: a dispatch within a
  /// dispatch is queued.
  func run(_ dispatcher: Dispatcher) {
    runs += 1
    for entry in entries where entry.begun != runs { run(entry, dispatcher) }
  }

  private func run(_ entry: Entry, _ dispatcher: Dispatcher) {
    entry.begun = runs
    do {
      try entry.run()
    } catch {
      dispatcher.onFailure(.handlerFailed(store: typeName(entry.store), event: event, error))
    }
    entry.ended = runs
  }

  /// Runs the handlers of a store that have not run yet for the current action.
  ///
  /// - Returns: `false` if one of them is running.
  func runHandlers(of store: any Store.Type, _ dispatcher: Dispatcher) -> Bool {
    for entry in entries where entry.store == store {
      if entry.begun != runs {
        run(entry, dispatcher)
      } else if entry.ended != runs {
        return false
      }
    }
    return true
  }
}

/// The action that is being handled, for the handlers to read.
@MainActor @usableFromInline final class ActionBox<Payload: Sendable> {
  @usableFromInline var action: Action<Payload>?

  @usableFromInline init() {}
}
