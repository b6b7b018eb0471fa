import HTTPTypes
import ReactorCore
public import ReactorTesting

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
    let isForgetful = world.draws.chance(0.5)
    let households = ["ann", "bob"].map { Household($0, model, disk, isForgetful: isForgetful) }
    // The other is watched now and then only, and dropped from memory in between.
    let watched = isForgetful ? ["/a"] : ReferenceModel.paths
    await withTaskGroup(of: Void.self) { group in
      for household in households {
        for path in watched { group.addTask { await household.watch(path) } }
      }
      await world.users(4, steps: 1...12) { user in
        try await households[user.number % 3 == 0 ? 1 : 0].step(user)
      }
      world.currentFaults = .none
      // What is under way ends: retries, waits for connectivity.
      try? await world.clock.sleep(for: .seconds(300))
      for household in households { household.judgeEnd(watching: watched) }
      let records = await world.disk.records()
      for household in households {
        household.judge(records)
        await household.judgeRecovery()
      }
      group.cancelAll()
    }
    world.check(world.network.inFlight == 0, "\(world.network.inFlight) requests are under way, and nobody is there")
    let path = world.draws.element(of: ReferenceModel.paths) ?? "/a"
    try await world.draws.element(of: households)?.judgePolicies(path)
  }

  private static let crashBody: @Sendable (SimulatedWorld) async throws -> Void = { world in
    let model = ReferenceModel(world)
    let household = Household("ann", model, world.disk.open(), isForgetful: true, mayLook: true)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        await world.users(3, steps: 2...10) { user in
          guard user.draws.chance(0.5) else { return try await household.step(user) }
          try await household.fetchFromNetwork(user.draws.element(of: ReferenceModel.paths) ?? "/a", user)
        }
      }
      group.addTask {
        try? await world.clock.sleep(for: world.draws.duration(upTo: .seconds(20)))
        world.note("the power is cut")
        model.crashDisk()
      }
      await group.next()
      group.cancelAll()
    }
    // What has come to nothing with the process is no request of the next.
    try await world.clock.sleep(for: .seconds(300))
    world.currentFaults = .none
    if world.draws.chance(0.5) { world.setClock(world.draws, upTo: .seconds(86_400)) }
    let survivor = Household("ann", model, world.disk.open(), isForgetful: true)
    survivor.judge(await world.disk.records())
    for path in ReferenceModel.paths { await survivor.judgeSurvival(path) }
    await survivor.judgeRecovery()
  }
}
