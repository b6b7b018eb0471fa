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

  private struct Waiter {
    let key: RecordKey?
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var held: Set<RecordKey> = []
    var isHeldWhole = false
    var waiting: [Waiter] = []

    /// Takes the place if it is free and nobody who came before waits for it.
    mutating func take(_ key: RecordKey?, before: ArraySlice<Waiter>) -> Bool {
      guard !isHeldWhole, !before.contains(where: { $0.key == nil || key == nil || $0.key == key }) else {
        return false
      }
      if let key { return held.insert(key).inserted }
      guard held.isEmpty else { return false }
      isHeldWhole = true
      return true
    }

    mutating func release(_ key: RecordKey?) -> [Waiter] {
      if let key { held.remove(key) } else { isHeldWhole = false }
      var granted: [Waiter] = []
      var left: [Waiter] = []
      for waiter in waiting {
        if take(waiter.key, before: left[...]) { granted.append(waiter) } else { left.append(waiter) }
      }
      waiting = left
      return granted
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
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.take(key, before: state.waiting[...]) { return true }
        state.waiting.append(Waiter(key: key, continuation: continuation))
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  private func leave(_ key: RecordKey?) {
    for waiter in state.withLock({ $0.release(key) }) { waiter.continuation.resume() }
  }
}
