import HTTPTypes
import ReactorCore
public import ReactorTesting
import Synchronization

/// The worlds in which the library runs beside its model. A test runs some seeds of each, and `make simulate` as many as one likes.
public enum World: String, CaseIterable, Sendable {
  /// Whatever users, network and disk do, nobody sees what may not be seen.
  case households
  /// What was acknowledged is there after a crash, whole.
  case crash

  public var body: @Sendable (SimulatedWorld) async throws -> Void {
    switch self {
    case .households: Self.householdsBody
    case .crash: Self.crashBody
    }
  }

  private static let householdsBody: @Sendable (SimulatedWorld) async throws -> Void = { world in
    let model = ReferenceModel(world)
    let disk = world.disk.open()
    let households = ["ann", "bob"].map { Household($0, model, disk) }
    await withTaskGroup(of: Void.self) { group in
      for household in households {
        for path in ReferenceModel.paths { group.addTask { await household.watch(path) } }
      }
      await world.users(4, steps: 1...12) { user in
        try await households[user.number % 3 == 0 ? 1 : 0].step(user)
      }
      world.currentFaults = .none
      // What is under way ends: retries, waits for connectivity.
      try? await world.clock.sleep(for: .seconds(300))
      for household in households {
        household.judgeEnd()
        await household.judgeRecovery()
      }
      group.cancelAll()
    }
    world.check(world.network.inFlight == 0, "\(world.network.inFlight) requests are under way, and nobody is there")
    for (key, record) in await world.disk.records() {
      world.check(record.head.fields[.authorization] == nil, "a secret is on disk: \(key)")
    }
  }

  private static let crashBody: @Sendable (SimulatedWorld) async throws -> Void = { world in
    var faults = world.currentFaults
    faults.saveFailure = 0
    faults.loadFailure = 0
    world.currentFaults = faults
    let model = ReferenceModel(world)
    let acknowledged = Acknowledged()
    let household = Household("ann", model, world.disk.open(), failsWhenSaveFails: true)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        await world.users(3, steps: 2...10) { user in
          let path = user.draws.element(of: ReferenceModel.paths) ?? "/a"
          if user.draws.chance(0.3) { model.server.change(path) }
          guard let order = try await household.fetchFromNetwork(path, user) else { return }
          acknowledged.add(order, path)
        }
      }
      group.addTask {
        try? await world.clock.sleep(for: world.draws.duration(upTo: .seconds(20)))
        world.note("the power is cut")
        world.disk.crash()
      }
      await group.next()
      group.cancelAll()
    }
    let survivor = Household("ann", model, world.disk.open())
    for path in ReferenceModel.paths { await survivor.judgeSurvival(path, acknowledged.order(path)) }
  }
}

/// The newest answer of each path that somebody was given.
private final class Acknowledged: Sendable {
  private let orders = Mutex<[String: Int]>([:])

  func add(_ order: Int, _ path: String) { orders.withLock { $0[path] = max($0[path] ?? 0, order) } }
  func order(_ path: String) -> Int { orders.withLock { $0[path] ?? 0 } }
}
