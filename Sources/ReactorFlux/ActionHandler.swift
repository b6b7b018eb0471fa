/// A line of a store's table: an event, and what the store does about it.
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

  /// - Parameters:
  ///   - event: its actions come with payloads of its type, and with errors.
  ///   - body: runs once for each action, in the order in which stores were registered. What it throws is reported to
  ///     ``Dispatcher/onFailure``; the other stores' handlers still run.
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
