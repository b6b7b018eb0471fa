public import ReactorCore
import Synchronization

/// A `Persistence` that fails, waits, is slow and crashes when a test says so, and counts what it was asked.
///
/// ```swift
/// let persistence = FaultyPersistence()
/// persistence.fail(.load, with: RecordError.truncated)    // the next load
/// let gate = persistence.hold(.save)                      // the next save waits …
/// try await gate.reached()                                // … which the test waits for,
/// gate.open()                                             // and lets it go on
/// persistence.delay(.save, by: .seconds(1), on: clock)    // one more lasts a second
/// ```
///
/// Faults of one operation happen in the order in which they were asked for, one per call.
public final class FaultyPersistence: Persistence {
  public enum Operation: Sendable, Hashable, CaseIterable {
    case load, save, remove, removeAll, entries

    fileprivate var isReading: Bool { self == .load || self == .entries }
  }

  /// What a call gets that ``crash()`` ended.
  public struct Crashed: Error, Hashable {
    public init() {}
  }

  private enum Fault: Sendable {
    case fail(any Error, isDone: Bool)
    case hold(Gate)
    case delay(Duration, any Clock<Duration>)
  }

  private struct State {
    var faults: [Operation: [Fault]] = [:]
    /// Last for every call, once the scripted faults are used up.
    var failure: [Operation: any Error] = [:]
    var calls: [Operation: Int] = [:]
    var gates: [Gate] = []
    var crashCount = 0
  }

  private let base: any Persistence
  private let state = Mutex(State())

  /// - Parameter base: what is really asked.
  public init(_ base: any Persistence = MemoryPersistence()) { self.base = base }

  /// How often the operation was asked for, whatever became of it.
  public func calls(_ operation: Operation) -> Int { state.withLock { $0.calls[operation, default: 0] } }

  /// Makes the next call fail.
  ///
  /// - Parameter afterwards: whether it is carried out first, so that only the acknowledgement is lost.
  public func fail(_ operation: Operation, with error: any Error, afterwards: Bool = false) {
    state.withLock { $0.faults[operation, default: []].append(.fail(error, isDone: afterwards)) }
  }

  /// Makes every call fail that has no other fault, until it is called with `nil`.
  public func failAlways(_ operation: Operation, with error: (any Error)?) {
    state.withLock { $0.failure[operation] = error }
  }

  /// Makes the next call wait, before it is carried out, until the gate is opened.
  ///
  /// - Parameter endsWhenCancelled: whether cancellation ends the wait, with `CancellationError`. Default: for all but
  ///   `save` and the removals, which a real store does not give up either.
  public func hold(_ operation: Operation, endsWhenCancelled: Bool? = nil) -> Gate {
    let gate = Gate(endsWhenCancelled: endsWhenCancelled ?? operation.isReading)
    state.withLock { state in
      state.faults[operation, default: []].append(.hold(gate))
      state.gates.append(gate)
    }
    return gate
  }

  /// Makes the next call last `duration` longer: it is carried out then.
  ///
  /// A removal or a save whose task is cancelled is carried out at once; a load and a list throw `CancellationError`.
  public func delay(_ operation: Operation, by duration: Duration, on clock: any Clock<Duration>) {
    state.withLock { $0.faults[operation, default: []].append(.delay(duration, clock)) }
  }

  /// Ends every call that a gate holds with ``Crashed``, and every slow one once its time is over: what was not acknowledged is lost,
  /// what was is there.
  public func crash() {
    let gates = state.withLock { state in
      state.crashCount += 1
      defer { state.gates = [] }
      return state.gates
    }
    for gate in gates { gate.crash() }
  }

  public func load(_ key: RecordKey) async throws -> Record? {
    try await perform(.load) { try await base.load(key) }
  }

  public func save(_ record: Record, for key: RecordKey) async throws {
    try await perform(.save) { try await base.save(record, for: key) }
  }

  public func remove(_ key: RecordKey) async throws {
    try await perform(.remove) { try await base.remove(key) }
  }

  public func removeAll(in scope: Scope?) async throws {
    try await perform(.removeAll) { try await base.removeAll(in: scope) }
  }

  public func entries(in scope: Scope?, url: String?) async throws -> [RecordEntry] {
    try await perform(.entries) { try await base.entries(in: scope, url: url) }
  }

  /// The base's, at once: no fault is made of it.
  public func secretKey() -> SecretKey? { base.secretKey() }

  private func perform<Value>(_ operation: Operation, _ body: () async throws -> Value) async throws -> Value {
    let fault = state.withLock { state -> Fault? in
      state.calls[operation, default: 0] += 1
      guard let next = state.faults[operation]?.first else {
        return state.failure[operation].map { .fail($0, isDone: false) }
      }
      state.faults[operation]?.removeFirst()
      return next
    }
    switch fault {
    case .fail(let error, let isDone):
      if isDone { _ = try await body() }
      throw error
    case .hold(let gate):
      try await gate.pass()
      return try await body()
    case .delay(let duration, let clock):
      try await sleep(for: duration, on: clock, endsWhenCancelled: operation.isReading)
      return try await body()
    case nil: return try await body()
    }
  }

  private func sleep(for duration: Duration, on clock: any Clock<Duration>, endsWhenCancelled: Bool) async throws {
    let crashCount = state.withLock { $0.crashCount }
    do {
      try await clock.sleep(for: max(duration, .zero))
    } catch {
      // A real store does not give up a write either.
      if endsWhenCancelled { throw error }
    }
    if state.withLock({ $0.crashCount }) > crashCount { throw Crashed() }
  }
}
