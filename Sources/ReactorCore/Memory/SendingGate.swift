import Synchronization

/// Keeps the requests for a key and the writes that change it apart.
///
/// HTTP does not say whether the response to a `GET` that overlaps a write has the effect of that
/// write. So no request for the key begins while a write of it is being sent. A request under way
/// begins again after it. A caller waits for one write at most: its request has a *pass*, and the
/// next write waits for that. A request that only streams wait for goes after the last of the
/// writes that are due.
final class SendingGate: Sendable {
  private struct Key {
    /// The writes that are being sent.
    var sending = 0
    /// The writes that go next without waiting for anything but their turn.
    var due = 0
    /// The requests that the next write waits for.
    var passes = 0

    var isIdle: Bool { sending == 0 && due == 0 && passes == 0 }
  }

  private struct Waiting {
    let keys: Set<RecordKey>
    let turn: OneShot<Void>
  }

  private struct State {
    var keys: [RecordKey: Key] = [:]
    /// The writes that wait for passes, in order of arrival.
    var waiting: [Waiting] = []

    mutating func change(_ keys: Set<RecordKey>, _ body: (inout Key) -> Void) {
      for key in keys {
        var entry = self.keys[key] ?? Key()
        body(&entry)
        self.keys[key] = entry.isIdle ? nil : entry
      }
    }

    /// Begins the writes whose keys have no passes any more.
    mutating func admit() -> [OneShot<Void>] {
      var admitted: [OneShot<Void>] = []
      let arrived = waiting
      waiting = []
      for write in arrived {
        if write.keys.allSatisfy({ keys[$0]?.passes ?? 0 == 0 }) {
          change(write.keys) { $0.sending += 1 }
          admitted.append(write.turn)
        } else {
          waiting.append(write)
        }
      }
      return admitted
    }
  }

  /// A request that the next write of its key waits for. The pass ends when it is released, which
  /// must not happen under a lock.
  final class Pass: Sendable {
    private let key: RecordKey
    private let gate: SendingGate

    fileprivate init(_ key: RecordKey, _ gate: SendingGate) {
      self.key = key
      self.gate = gate
    }

    deinit { gate.update { $0.change([key]) { $0.passes -= 1 } } }
  }

  private let state = Mutex(State())
  /// The number of keys with writes. Most layers have none, and need not lock.
  private let count = Atomic<Int>(0)

  /// A Boolean value that indicates whether nothing is being written, or about to be.
  var isIdle: Bool { count.load(ordering: .acquiring) == 0 }

  /// Announces a write of `keys` that goes as soon as its turn comes.
  func expect(_ keys: Set<RecordKey>) { update { $0.change(keys) { $0.due += 1 } } }

  /// Takes an announcement back.
  func cancelExpected(_ keys: Set<RecordKey>) { update { $0.change(keys) { $0.due -= 1 } } }

  /// Begins a write that was announced, once the requests with a pass are over.
  ///
  /// It does not end early for a cancelled task: those requests end by themselves.
  func begin(_ keys: Set<RecordKey>) async {
    let turn = OneShot<Void>()
    update { state in
      state.waiting.append(Waiting(keys: keys, turn: turn))
      state.change(keys) { $0.due -= 1 }
    }
    await turn.value
  }

  /// Ends a write.
  func end(_ keys: Set<RecordKey>) { update { $0.change(keys) { $0.sending -= 1 } } }

  /// Returns `true` if a request for `key` may begin now.
  ///
  /// - Parameter hasCaller: `true` if a caller waits for the response.
  func admits(_ key: RecordKey, hasCaller: Bool) -> Bool {
    guard !isIdle else { return true }
    return state.withLock { state in
      guard let entry = state.keys[key] else { return true }
      return entry.sending == 0 && (hasCaller || entry.due == 0)
    }
  }

  /// Returns a pass for a request for `key`, unless a write of it is being sent.
  func pass(for key: RecordKey) -> Pass? {
    let isGranted = state.withLock { state in
      guard state.keys[key]?.sending ?? 0 == 0 else { return false }
      state.change([key]) { $0.passes += 1 }
      count.store(state.keys.count, ordering: .releasing)
      return true
    }
    return isGranted ? Pass(key, self) : nil
  }

  private func update(_ body: (inout State) -> Void) {
    let admitted = state.withLock { state in
      body(&state)
      let admitted = state.admit()
      count.store(state.keys.count + state.waiting.count, ordering: .releasing)
      return admitted
    }
    for turn in admitted { turn.settle(()) }
  }
}
