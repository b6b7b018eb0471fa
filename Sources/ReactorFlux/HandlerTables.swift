/// The handlers of all stores, by event.
@MainActor @usableFromInline final class HandlerTables {
  private var tables: [String: HandlerTable] = [:]

  /// Checks the events of a store's handlers, before any is added.
  ///
  /// - Throws: ``FluxError/emptyName(payload:)`` and
  ///   ``FluxError/conflictingPayloads(event:known:other:)``.
  func check<S: Store>(_ handlers: [ActionHandler<S>]) throws(FluxError) {
    var known = payloads
    try check(handlers, &known)
  }

  /// The payload types of the events, by name.
  var payloads: [String: any Any.Type] { tables.mapValues(\.payload) }

  /// Checks the events of handlers that come after those of `known`, and adds them to it.
  func check<S: Store>(_ handlers: [ActionHandler<S>], _ known: inout [String: any Any.Type]) throws(FluxError) {
    for handler in handlers {
      try check(handler.name, handler.payload, known[handler.name] ?? handler.payload)
      known[handler.name] = handler.payload
    }
  }

  /// Checks the event of an action, and throws the same errors.
  func check(_ name: String, _ payload: any Any.Type) throws(FluxError) {
    try check(name, payload, tables[name]?.payload ?? payload)
  }

  private func check(_ name: String, _ payload: any Any.Type, _ known: any Any.Type) throws(FluxError) {
    guard !name.isEmpty else { throw .emptyName(payload: typeName(payload)) }
    guard known == payload else {
      throw .conflictingPayloads(event: name, known: typeName(known), other: typeName(payload))
    }
  }

  /// Adds a handler of an event that was checked.
  ///
  /// - Parameter run: A closure that gets the box of the action, and returns the handler.
  @usableFromInline func add<Payload>(
    _ event: Event<Payload>, of store: any Store.Type,
    _ run: (ActionBox<Payload>) -> @MainActor () throws -> Void
  ) {
    let table = tables[event.name] ?? HandlerTable(event)
    guard let box = table.box as? ActionBox<Payload> else { return }
    table.add(store, run(box))
    tables[event.name] = table
  }

  /// Returns the handlers of an event; `nil` if no store handles it with that type of payload.
  func table(_ name: String, _ payload: any Any.Type) -> HandlerTable? {
    guard let table = tables[name], table.payload == payload else { return nil }
    return table
  }

  var catalog: EventCatalog { EventCatalog(decoding: tables.mapValues(\.decode)) }
}

/// Returns the type's name with its module, which distinguishes types of the same name.
func typeName(_ type: any Any.Type) -> String { readable(String(reflecting: type)) }

/// Returns a type's name without the addresses of private and local scopes, which differ in each
/// run.
func readable(_ name: String) -> String {
  var parts = name.split(separator: ".", omittingEmptySubsequences: false)
  parts.removeAll { $0.hasPrefix("(unknown context at $") && $0.hasSuffix(")") }
  return parts.joined(separator: ".")
}
