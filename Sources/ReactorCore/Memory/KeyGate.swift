import Synchronization

/// Lets the persistence of one key be used by one at a time, in order of arrival, and by nobody while all is removed.
///
/// It is passed by whoever is inside already (a step that writes or removes through its own reactor), so that it cannot wait
/// for itself.
final class KeyGate: Sendable {
  /// By what the current task is inside of gates.
  @TaskLocal private static var passes: [Pass] = []

  /// Being inside; over when the step is, also for a task that the step has left behind.
  private final class Pass: Sendable {
    let gate: ObjectIdentifier
    let isValid = Atomic<Bool>(true)

    init(_ gate: KeyGate) { self.gate = ObjectIdentifier(gate) }
  }

  private let state = Mutex(State())

  private typealias Waiter = CheckedContinuation<Void, Never>

  /// One who waits to be alone for every key, and who came after.
  private struct WholeWaiter {
    let waiter: Waiter
    var behind: [(key: RecordKey, waiter: Waiter)] = []
  }

  /// Each change takes as long with a thousand waiters as with one.
  private struct State {
    /// The keys that somebody is inside for, with who waits for each.
    var held: [RecordKey: ArraySlice<Waiter>] = [:]
    var isHeldWhole = false
    /// Who came while it was held whole, before the next that wants that.
    var behind: [(key: RecordKey, waiter: Waiter)] = []
    var whole: ArraySlice<WholeWaiter> = []

    /// - Returns: whether the place is free.
    mutating func enter(_ key: RecordKey?, _ waiter: Waiter) -> Bool {
      guard let key else {
        guard isHeldWhole || !held.isEmpty || !whole.isEmpty else {
          isHeldWhole = true
          return true
        }
        whole.append(WholeWaiter(waiter: waiter))
        return false
      }
      if let last = whole.indices.last {
        whole[last].behind.append((key, waiter))
      } else if isHeldWhole {
        behind.append((key, waiter))
      } else if held[key] == nil {
        held[key] = []
        return true
      } else {
        held[key]?.append(waiter)
      }
      return false
    }

    /// - Returns: who may enter.
    mutating func leave(_ key: RecordKey?) -> [Waiter] {
      guard let key else {
        isHeldWhole = false
        let first = behind.compactMap { key, waiter in
          guard held[key] == nil else {
            held[key]?.append(waiter)
            return nil as Waiter?
          }
          held[key] = []
          return waiter
        }
        behind = []
        return first.isEmpty ? enterWhole() : first
      }
      if let next = held[key]?.popFirst() { return [next] }
      held[key] = nil
      return held.isEmpty ? enterWhole() : []
    }

    private mutating func enterWhole() -> [Waiter] {
      guard let next = whole.popFirst() else { return [] }
      isHeldWhole = true
      behind = next.behind
      return [next.waiter]
    }
  }

  /// Runs `body` alone for `key`; with `nil`, alone for every key. Not ended by cancellation while it waits.
  func with<Result, Failure: Error>(
    _ key: RecordKey?, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    if Self.passes.contains(where: { $0.gate == ObjectIdentifier(self) && $0.isValid.load(ordering: .acquiring) }) {
      return try await body()
    }
    await enter(key)
    let pass = Pass(self)
    defer {
      pass.isValid.store(false, ordering: .releasing)
      leave(key)
    }
    let result = await Self.$passes.withValue(Self.passes + [pass]) { () async -> Swift.Result<Result, Failure> in
      do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// Runs `body` as a task that is inside of no gate, whatever task made it.
  static func outside(_ body: () async -> Void) async {
    await $passes.withValue([]) { await body() }
  }

  private func enter(_ key: RecordKey?) async {
    await withCheckedContinuation { waiter in
      if state.withLock({ $0.enter(key, waiter) }) { waiter.resume() }
    }
  }

  private func leave(_ key: RecordKey?) {
    for waiter in state.withLock({ $0.leave(key) }) { waiter.resume() }
  }
}
