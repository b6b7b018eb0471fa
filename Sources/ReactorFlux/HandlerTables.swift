/// The handlers of all stores, by event.
@MainActor @usableFromInline final class HandlerTables {
  private var tables: [String: HandlerTable] = [:]

  /// - Throws: ``FluxError/emptyName(payload:)`` and ``FluxError/conflictingPayloads(event:known:other:)``, before anything is added.
  func check<S: Store>(_ handlers: [ActionHandler<S>]) throws(FluxError) {
    var known = tables.mapValues(\.payload)
    for handler in handlers {
      try check(handler.name, handler.payload, known[handler.name] ?? handler.payload)
      known[handler.name] = handler.payload
    }
  }

  /// The same of an action.
  func check(_ name: String, _ payload: any Any.Type) throws(FluxError) {
    try check(name, payload, tables[name]?.payload ?? payload)
  }

  private func check(_ name: String, _ payload: any Any.Type, _ known: any Any.Type) throws(FluxError) {
    guard !name.isEmpty else { throw .emptyName(payload: typeName(payload)) }
    guard known == payload else {
      throw .conflictingPayloads(event: name, known: typeName(known), other: typeName(payload))
    }
  }

  /// - Parameter event: one that was checked.
  /// - Returns: where its handlers find the action.
  @usableFromInline func add<Payload>(
    _ event: Event<Payload>, of store: any Store.Type,
    _ run: (ActionBox<Payload>) -> @MainActor () throws -> Void
  ) {
    let table = tables[event.name] ?? HandlerTable(event)
    guard let box = table.box as? ActionBox<Payload> else { return }
    table.add(store, run(box))
    tables[event.name] = table
  }

  /// `nil`: no store handles the event with that payload.
  func table(_ name: String, _ payload: any Any.Type) -> HandlerTable? {
    guard let table = tables[name], table.payload == payload else { return nil }
    return table
  }

  var catalog: EventCatalog { EventCatalog(decoding: tables.mapValues(\.decode)) }
}

/// With its module, so that two types of one name are told apart.
func typeName(_ type: any Any.Type) -> String { readable(String(reflecting: type)) }

/// A type's name without the address of what a private or local one stands in, which is another in each run.
func readable(_ name: String) -> String {
  var parts = name.split(separator: ".", omittingEmptySubsequences: false)
  parts.removeAll { $0.hasPrefix("(unknown context at $") && $0.hasSuffix(")") }
  return parts.joined(separator: ".")
}
