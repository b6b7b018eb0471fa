import ReactorConformance
import ReactorCore
import ReactorTesting

/// Steps of the program that removals of everything wait for.
extension OutboxClient {
  /// Saves a value of the program's own, of which nothing is stored, in a step that does `body`.
  private func save(at path: String, _ body: @escaping @Sendable () async -> Void) async throws {
    var flow = layer.flow(Int.self)
    flow.saveToPersistence = { _, _ in await body() }
    try await Reactor(flow: flow).save(0, for: Resource(path))
  }

  /// Keeps a step under way for a while, for which a removal of everything waits.
  func keepBusy(for duration: Duration) {
    _ = spawnApart(on: world.configuration.taskExecutor) { [self] in
      try? await save(at: "/busy") { [clock = world.clock] in try? await clock.sleep(for: duration) }
    }
  }

  /// Removes everything in a step, for which another step waits meanwhile: neither would end.
  func removeInCircle() async {
    let isAwaited = Shared(false)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [self] in
        try? await save(at: "/first") { [self] in
          try? await world.clock.sleep(for: .milliseconds(10))
          isAwaited.change { $0 = true }
          try? await save(at: "/second") {}
        }
      }
      group.addTask { [self] in
        try? await save(at: "/second") { [self] in
          try? await world.clock.sleep(for: .milliseconds(20))
          let isFree = isAwaited.value && book.view(number)?.storeRemovals == 0
          guard isFree, (try? await world.clock.sleep(for: .milliseconds(1))) != nil else { return }
          do {
            try await layer.removeAll()
            world.check(hasEnded, "everything is removed in a step, for which another step waits")
          } catch ReactorError.deadlock {
            world.note("client \(number): a removal is told of its circle")
          } catch { world.check(hasEnded, "a removal in a circle fails with \(error)") }
        }
      }
    }
  }
}
