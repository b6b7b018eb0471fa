import ReactorFlux

struct Entry: Codable, Hashable, Sendable {
  var title: String
  var amounts: [Int]
}

extension Event where Payload == Entry {
  static var added: Event { Event("added") }
}

extension Event where Payload == String? {
  static var noted: Event { Event("noted") }
}

extension Event where Payload == Void {
  static var cleared: Event { Event("cleared") }
}

/// A store of several kinds of payload, whose state is a value.
final class Ledger: PlainStore, Snapshotting {
  struct State: Equatable {
    var entries: [Entry] = []
    var lines: [String] = []
  }

  let context = StoreContext()
  private(set) var state = State()

  var snapshot: State {
    get { state }
    set { state = newValue }
  }

  static let handlers: [ActionHandler<Ledger>] = [
    .on(.added) { store, action in
      if let entry = action.payload { store.state.entries.append(entry) }
      store.write(action.error.map(text) ?? "added")
    },
    .on(.noted) { store, action in
      switch action.result {
      case .success(let note): store.write(note ?? "nil")
      case .failure(let error): store.write(text(error))
      }
    },
    .on(.cleared) { store, _ in
      store.state.entries = []
      store.write("cleared")
    },
  ]

  private func write(_ line: String) {
    state.lines.append(line)
    emitChange()
  }

  /// The same for an error, and for what a log has kept of it.
  private static func text(_ error: any Error) -> String { (error as? LoggedError)?.description ?? "\(error)" }
}

/// Sums what the ledger has, for which it waits.
final class Balance: PlainStore, Snapshotting {
  let context = StoreContext()
  private(set) var total = 0
  var snapshot: Int {
    get { total }
    set { total = newValue }
  }

  static let handlers: [ActionHandler<Balance>] = [
    .on(.added) { store, action in
      try store.waitFor(Ledger.self)
      store.total += action.payload?.amounts.reduce(0, +) ?? 0
      store.emitChange(error: action.error)
    },
    .on(.cleared) { store, _ in
      store.total = 0
      store.emitChange()
    },
  ]
}

extension Dispatcher {
  /// With the two stores, `Balance` first.
  static func ofLedger() throws -> Dispatcher {
    let dispatcher = Dispatcher()
    try dispatcher.register(Balance.self)
    try dispatcher.register(Ledger.self)
    return dispatcher
  }

  var ledger: Ledger.State { get throws { try store(Ledger.self).state } }
  var total: Int { get throws { try store(Balance.self).total } }
}
