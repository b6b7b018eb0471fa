/// Ends `work` with ``ReactorError/timedOut`` once `timeout` has passed on `clock`.
package func withDeadline<Value: Sendable>(
  _ timeout: Duration, _ clock: any Clock<Duration>, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  guard timeout > .zero else { throw ReactorError.timedOut }
  // About thirty years. Adding much more to a clock's now overflows.
  guard timeout < .seconds(1_000_000_000) else { return try await work() }
  return try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask { try await work() }
    group.addTask {
      try await clock.sleep(for: timeout)
      throw ReactorError.timedOut
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() else { throw CancellationError() }
    return value
  }
}
