/// Makes every unstructured task of the library, so that the whole of it can be run on one executor.
///
/// - Parameter executor: where it runs; `nil` is the global executor.
func spawn(
  on executor: (any TaskExecutor)?, priority: TaskPriority? = nil,
  _ operation: @escaping @Sendable @concurrent () async -> Void
) -> Task<Void, Never> {
  Task(executorPreference: executor, priority: priority) { @concurrent in
    await KeyGate.outside { await operation() }
  }
}
