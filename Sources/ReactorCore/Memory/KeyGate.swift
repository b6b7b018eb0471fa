import Synchronization

/// Lets the persistence of one key be used by one at a time, in order of arrival, and by nobody while all is removed.
///
/// It is passed by whoever is inside already (a step that writes or removes through its own reactor), so that it cannot wait
/// for itself.
final class KeyGate: Sendable {
  /// The gates that the current task is inside of.
  @TaskLocal private static var entered: Set<ObjectIdentifier> = []

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
    if Self.entered.contains(ObjectIdentifier(self)) { return try await body() }
    await enter(key)
    defer { leave(key) }
    let entered = Self.entered.union([ObjectIdentifier(self)])
    let result = await Self.$entered.withValue(entered) { () async -> Swift.Result<Result, Failure> in
      do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// Runs `body` as a task that is inside of no gate, whatever task made it.
  static func outside(_ body: () async -> Void) async {
    await $entered.withValue([]) { await body() }
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
