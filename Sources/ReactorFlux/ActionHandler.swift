/// An entry of a store's table of handlers: an event, and the store's response to it.
@MainActor public struct ActionHandler<S: Store> {
  let name: String
  let payload: any Any.Type
  let attach: @MainActor (S, HandlerTables) -> Void

  @usableFromInline init(
    name: String, payload: any Any.Type, attach: @escaping @MainActor (S, HandlerTables) -> Void
  ) {
    self.name = name
    self.payload = payload
    self.attach = attach
  }

  /// Creates an entry for an event.
  ///
  /// - Parameters:
  ///   - event: The event. Its actions carry a payload of its type, or an error.
  ///   - body: The handler. It runs once for each action, in the order in which stores were
  ///     registered. An error that it throws is reported to ``Dispatcher/onFailure``, and the other
  ///     stores' handlers still run.
  @inlinable public static func on<Payload>(
    _ event: Event<Payload>, _ body: @escaping @MainActor (S, Action<Payload>) throws -> Void
  ) -> ActionHandler {
    ActionHandler(name: event.name, payload: Payload.self) { store, tables in
      tables.add(event, of: S.self) { box in
        { if let action = box.action { try body(store, action) } }
      }
    }
  }
}
