#if Sealing
  import Synchronization

  /// Keeps the sealing of a record with a new key apart from writes of the same record.
  ///
  /// Sealing reads a record and saves it again. A write or a removal in between would be undone.
  /// Writes do not wait for each other here.
  ///
  /// A pass also waits for the writes that began before it has read the keys: they may yet seal
  /// with an older one. So each write counts from before its keys are read.
  final class ResealGate<Key: Hashable & Sendable>: Sendable {
    private struct State {
      var writes: [Key: Int] = [:]
      var removals = 0
      /// The number of the present turn, and of writes in flight by the turn in which they began.
      var turn = 0
      var turns: [Int: Int] = [:]
      var resealed: Set<Key> = []
      var onWait: (@Sendable () -> Void)?
      var waiters: [CheckedContinuation<Bool, Never>] = []

      mutating func takeWaiters() -> [CheckedContinuation<Bool, Never>] {
        defer { waiters = [] }
        return waiters
      }
    }

    private let state = Mutex(State())

    /// Runs a write of `key`, after a reseal of the same key.
    func write<Value>(_ key: Key, _ body: () async throws -> Value) async rethrows -> Value {
      try await count {
        state.withLock { $0.writes[key, default: 0] += 1 }
        await wait { !$0.resealed.contains(key) }
        defer {
          end { state in
            let rest = (state.writes[key] ?? 1) - 1
            state.writes[key] = rest == 0 ? nil : rest
          }
        }
        return try await body()
      }
    }

    /// Runs a write that no reseal can undo, for ``settle()``.
    func count<Value>(_ body: () async throws -> Value) async rethrows -> Value {
      let turn = state.withLock { state in
        state.turns[state.turn, default: 0] += 1
        return state.turn
      }
      defer {
        end { state in
          let rest = (state.turns[turn] ?? 1) - 1
          state.turns[turn] = rest == 0 ? nil : rest
        }
      }
      return try await body()
    }

    /// Returns once the writes that have begun so far have ended. Later ones are not waited for.
    func settle() async {
      let turn = state.withLock { state in
        state.turn += 1
        return state.turn
      }
      await wait { $0.turns.keys.allSatisfy { $0 >= turn } }
    }

    /// Runs a removal of many keys, after every reseal.
    func remove<Value>(_ body: () async throws -> Value) async rethrows -> Value {
      state.withLock { $0.removals += 1 }
      await wait { $0.resealed.isEmpty }
      defer { end { $0.removals -= 1 } }
      return try await body()
    }

    /// Runs a reseal of `key`, while nothing else changes it.
    func reseal<Value>(_ key: Key, _ body: () async throws -> Value) async rethrows -> Value {
      await wait { state in
        guard state.writes[key] == nil, state.removals == 0, !state.resealed.contains(key) else { return false }
        state.resealed.insert(key)
        return true
      }
      defer { end { $0.resealed.remove(key) } }
      return try await body()
    }

    /// Sets a closure that is called when a task begins to wait. Only tests do so.
    func notify(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onWait = body } }

    private func wait(_ enters: @Sendable (inout State) -> Bool) async {
      var isIn = false
      while !isIn { isIn = await enter(enters) }
    }

    /// Returns `true` once `enters` does, or `false` when it should be called again.
    private func enter(_ enters: @Sendable (inout State) -> Bool) async -> Bool {
      await withCheckedContinuation { continuation in
        let next: (@Sendable () -> Void)? = state.withLock { state in
          if enters(&state) { return { continuation.resume(returning: true) } }
          state.waiters.append(continuation)
          return state.onWait
        }
        next?()
      }
    }

    private func end(_ body: (inout State) -> Void) {
      let waiters = state.withLock { state in
        body(&state)
        return state.takeWaiters()
      }
      for waiter in waiters { waiter.resume(returning: false) }
    }
  }
#endif
