/// Makes every unstructured task of the library, so that the whole of it can be run on one executor.
///
/// - Parameters:
///   - executor: where it runs; `nil` is the global executor.
///   - owner: what the task works for. `nil`: for nobody who waits, whatever task makes it, so it passes no ``KeyGate`` that is held.
func spawn(
  on executor: (any TaskExecutor)?, priority: TaskPriority? = nil, for owner: LockOwner? = nil,
  _ operation: @escaping @Sendable @concurrent () async -> Void
) -> Task<Void, Never> {
  Task(executorPreference: executor, priority: priority) { @concurrent in
    await LockOwner.$current.withValue(owner) { await operation() }
  }
}
