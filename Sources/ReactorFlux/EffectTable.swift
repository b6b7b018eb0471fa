/// The running effects of a dispatcher. They are cancelled when it is released.
@MainActor final class EffectTable {
  /// The identity of an effect: its id among those of a store, or of the dispatcher itself.
  struct Key: Hashable {
    let store: ObjectIdentifier?
    let id: AnyHashable
  }

  /// An effect that has not ended. Releasing it cancels its task.
  private final class Running {
    let number: Int
    private(set) var task: Task<Void, Never>?

    init(_ number: Int, _ task: Task<Void, Never>) {
      self.number = number
      self.task = task
    }

    deinit { task?.cancel() }

    /// Ends the effect without cancelling the task, which still dispatches.
    func end() { task = nil }
  }

  private var running: [Key: Running] = [:]
  private var lastNumber = 0

  nonisolated init() {}

  /// Runs `work` in a new task, and cancels the effect that runs with this key.
  ///
  /// - Parameters:
  ///   - key: The key; `nil` for an effect that no other replaces.
  ///   - work: The work. It calls its argument before it dispatches for the last time, so that
  ///     what this leads to may start an effect with the same key.
  func start(
    _ key: Key?, _ work: @escaping @MainActor (_ end: @MainActor () -> Void) async -> Void
  ) -> Task<Void, Never> {
    lastNumber += 1
    let number = lastNumber
    let key = key ?? Key(store: nil, id: Unnamed(number: number))
    let task = Task { @MainActor [weak self] in
      await work { self?.end(key, number) }
      self?.end(key, number)
    }
    // The one before is released, and so cancelled, after the access.
    let before = running.updateValue(Running(number, task), forKey: key)
    withExtendedLifetime(before) {}
    return task
  }

  func cancel(_ key: Key) {
    let effect = running.removeValue(forKey: key)
    withExtendedLifetime(effect) {}
  }

  func cancelAll() {
    let before = running
    running = [:]
    withExtendedLifetime(before) {}
  }

  /// The number of running effects.
  var count: Int { running.count }

  /// Returns when no effect is running.
  func settled() async {
    while let task = running.values.first?.task { await task.value }
  }

  private func end(_ key: Key, _ number: Int) {
    guard let effect = running[key], effect.number == number else { return }
    effect.end()
    running[key] = nil
  }

  private struct Unnamed: Hashable {
    let number: Int
  }
}
