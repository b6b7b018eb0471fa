public import ReactorCore
import Synchronization

/// A persistence that fails, waits, delays and crashes on demand, and counts its calls.
///
/// ```swift
/// let persistence = FaultyPersistence()
/// persistence.fail(.load, with: Record.Failure.truncated)    // the next load fails
/// let gate = persistence.hold(.save)                      // the next save waits at the gate
/// try await gate.reached()                                // wait until it is there
/// gate.open()                                             // let it continue
/// persistence.delay(.save, by: .seconds(1), on: clock)    // the save after it takes a second
/// ```
///
/// The faults of one operation happen in the order in which they were requested, one per call.
public final class FaultyPersistence: Persistence {
  /// A call of `Persistence` that can have a fault.
  public enum Operation: Sendable, Hashable, CaseIterable {
    /// The methods of `Persistence`. `secretKey()` never has a fault.
    case load, save, remove, removeAll, entries

    fileprivate var isReading: Bool { self == .load || self == .entries }
  }

  /// The error of a call that ``crash()`` ended.
  public struct Crashed: Error, Hashable {
    /// Creates the error.
    public init() {}
  }

  private enum Fault: Sendable {
    case fail(any Error, isDone: Bool)
    case hold(Gate)
    case delay(Duration, any Clock<Duration>)
  }

  private struct State {
    var faults: [Operation: [Fault]] = [:]
    /// The errors of the calls that have no scripted fault left.
    var failure: [Operation: any Error] = [:]
    var calls: [Operation: Int] = [:]
    var gates: [Gate] = []
    var crashCount = 0
  }

  private let base: any Persistence
  private let state = Mutex(State())

  /// Creates a persistence without faults.
  ///
  /// - Parameter base: The persistence that carries out the calls.
  public init(_ base: any Persistence = MemoryPersistence()) { self.base = base }

  /// Returns the number of calls of the operation, including failed and cancelled ones.
  ///
  /// ```swift
  /// #expect(persistence.calls(.load) == 1)
  /// ```
  public func calls(_ operation: Operation) -> Int { state.withLock { $0.calls[operation, default: 0] } }

  /// Makes the next call of `operation` fail.
  ///
  /// ```swift
  /// persistence.fail(.load, with: Record.Failure.truncated)
  /// ```
  ///
  /// - Parameters:
  ///   - operation: The operation that fails.
  ///   - error: The error that the call throws.
  ///   - afterwards: A Boolean value that indicates whether the call is carried out before it
  ///     throws, so that only the acknowledgement is lost.
  public func fail(_ operation: Operation, with error: any Error, afterwards: Bool = false) {
    state.withLock { $0.faults[operation, default: []].append(.fail(error, isDone: afterwards)) }
  }

  /// Makes every call of `operation` fail that has no other fault. Pass `nil` to end this.
  ///
  /// ```swift
  /// persistence.failAlways(.save, with: FaultyPersistence.Crashed())
  /// ```
  public func failAlways(_ operation: Operation, with error: (any Error)?) {
    state.withLock { $0.failure[operation] = error }
  }

  /// Makes the next call of `operation` wait until the gate is opened, and only then carries it
  /// out.
  ///
  /// ```swift
  /// let gate = persistence.hold(.save)
  /// try await gate.reached()
  /// gate.open()
  /// ```
  ///
  /// - Parameters:
  ///   - operation: The operation that waits.
  ///   - endsWhenCancelled: A Boolean value that indicates whether cancellation ends the wait with
  ///     `CancellationError`. By default it does for `load` and `entries`. A real store does not
  ///     abandon a save or a removal either.
  public func hold(_ operation: Operation, endsWhenCancelled: Bool? = nil) -> Gate {
    let gate = Gate(endsWhenCancelled: endsWhenCancelled ?? operation.isReading)
    state.withLock { state in
      state.faults[operation, default: []].append(.hold(gate))
      state.gates.append(gate)
    }
    return gate
  }

  /// Makes the next call of `operation` wait for `duration` before it is carried out.
  ///
  /// ```swift
  /// persistence.delay(.save, by: .seconds(1), on: clock)
  /// ```
  ///
  /// Cancellation ends the wait. A save or a removal is then carried out at once; `load` and
  /// `entries` throw `CancellationError`.
  public func delay(_ operation: Operation, by duration: Duration, on clock: any Clock<Duration>) {
    state.withLock { $0.faults[operation, default: []].append(.delay(duration, clock)) }
  }

  /// Ends every held call with ``Crashed``, and every delayed call once its delay is over.
  ///
  /// ```swift
  /// let gate = persistence.hold(.save)
  /// try await gate.reached()
  /// persistence.crash()
  /// let restarted = ModelLayer(baseURL: api, persistence: persistence)  // the next start
  /// ```
  ///
  /// Calls that were not acknowledged are lost; acknowledged ones stay in the base. A gate that no
  /// call has reached yet ends its call in the same way.
  public func crash() {
    let gates = state.withLock { state in
      state.crashCount += 1
      defer { state.gates = [] }
      return state.gates
    }
    for gate in gates { gate.crash() }
  }

  /// Loads from the base, unless a fault applies.
  public func load(_ key: RecordKey) async throws -> Record? {
    try await perform(.load) { try await base.load(key) }
  }

  /// Saves to the base, unless a fault applies.
  public func save(_ record: Record, for key: RecordKey) async throws {
    try await perform(.save) { try await base.save(record, for: key) }
  }

  /// Removes from the base, unless a fault applies.
  public func remove(_ key: RecordKey) async throws {
    try await perform(.remove) { try await base.remove(key) }
  }

  /// Removes all records of the scope from the base, unless a fault applies.
  public func removeAll(in scope: Scope?) async throws {
    try await perform(.removeAll) { try await base.removeAll(in: scope) }
  }

  /// Lists the entries of the base, unless a fault applies.
  public func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
    try await perform(.entries) { try await base.entries(in: scope, url: url) }
  }

  /// Returns the secret key of the base. No fault applies to it.
  public func secretKey() -> RecordKey.SecretKey? { base.secretKey() }

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
      // A real store does not abandon a write either.
      if endsWhenCancelled { throw error }
    }
    if state.withLock({ $0.crashCount }) > crashCount { throw Crashed() }
  }
}
