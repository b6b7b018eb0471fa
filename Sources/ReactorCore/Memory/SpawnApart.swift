/// Makes a task that belongs to nobody, however long it runs: a timer, a watcher, whoever delivers for others. It inherits
/// neither the priority nor the task-local values of the task that happened to be the first to need it.
///
/// - Parameters:
///   - executor: where it runs; `nil` is the global executor.
///   - priority: `nil` is medium.
func spawnApart(
  on executor: (any TaskExecutor)?, priority: TaskPriority? = nil,
  _ operation: @escaping @Sendable @concurrent () async -> Void
) -> Task<Void, Never> {
  Task.detached(executorPreference: executor, priority: priority ?? .medium) { @concurrent in await operation() }
}
