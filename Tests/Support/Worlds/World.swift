import HTTPTypes
public import ReactorConformance
import ReactorCore
import ReactorTesting

/// The worlds in which the library runs beside its model. A test runs some seeds of each, and `make
/// simulate` as many as one likes.
public enum World: String, CaseIterable, Sendable {
  /// Users, network and disk do anything, and no user sees a forbidden value.
  case cache
  /// Acknowledged values are whole after a crash.
  case crash
  /// Accepted writes stay, refused ones go, and a base never includes a draft.
  case writers
  /// Submitted writes are carried out as often as was reported, in the order of their lane, after
  /// any crash.
  case outbox
  /// Servers with a shared store answer nothing from before a change that they must know of.
  case fleet
  /// Lists in pages are of one chain, whatever the server inserts, deletes and reorders.
  case lists
  /// Observed values follow the changes of the server, whatever happens to their stream.
  case live

  public var body: @Sendable (SimulatedWorld) async throws -> Void {
    switch self {
    case .cache: Self.cacheBody
    case .crash: Self.crashBody
    case .writers: Self.writersBody
    case .outbox: Self.outboxBody
    case .fleet: Self.fleetBody
    case .lists: Self.listsBody
    case .live: Self.liveBody
    }
  }

  private static let cacheBody: @Sendable (SimulatedWorld) async throws -> Void = { world in
    let model = ReferenceModel(world)
    let disk = world.disk.open()
    let isForgetful = world.draws.chance(0.5)
    let clients = ["ann", "bob"].map { CacheClient($0, model, disk, isForgetful: isForgetful) }
    // The other path is watched now and then only, and dropped from memory in between.
    let watched = clients.flatMap { client in
      Place.all(client.owner).filter { place in
        // In two languages by the one type, in one by the other.
        (place.path == "/a" || !isForgetful) && (place.kind == .document || place.language == "de")
      }
    }
    await withTaskGroup(of: Void.self) { group in
      for client in clients {
        for place in watched where place.owner == client.owner { group.addTask { await client.watch(place) } }
      }
      await live(in: world, model, clients)
      world.currentFaults = .none
      // Retries and waits for connectivity end.
      try? await world.clock.sleep(for: .seconds(300))
      for client in clients { client.judgeEnd(watching: watched) }
      for client in clients { try? await client.judgeWatchers(watched) }
      let records = await world.disk.records()
      for client in clients {
        client.judge(records)
        await client.judgeRecovery()
      }
      group.cancelAll()
    }
    world.check(world.network.inFlight == 0, "\(world.network.inFlight) requests are under way, and nobody is there")
    let client = world.draws.element(of: clients)
    if let client { try await client.judgePolicies(client.place(world.draws)) }
  }

  /// The users' life; in some worlds beside a user who polls a type whose answers overtake the
  /// other's.
  private static func live(in world: SimulatedWorld, _ model: ReferenceModel, _ clients: [CacheClient]) async {
    await withTaskGroup(of: Void.self) { group in
      if model.polling > .zero {
        for client in clients {
          let place = Place(owner: client.owner, path: "/a", kind: .document, language: "en")
          group.addTask { await client.watch(place, isLasting: false, polling: model.polling) }
        }
      }
      await world.users(4, steps: 1...12) { user in
        try await clients[user.number % 3 == 0 ? 1 : 0].step(user)
      }
      group.cancelAll()
    }
  }

  private static let writersBody: @Sendable (SimulatedWorld) async throws -> Void = { world in
    let writers = Writers(world)
    await withTaskGroup(of: Void.self) { group in
      for path in writers.watched { group.addTask { await writers.watch(path) } }
      await world.users(4, steps: 1...12) { try await writers.step($0) }
      world.currentFaults = .none
      try? await world.clock.sleep(for: .seconds(300))
      await writers.judgeEnd()
      group.cancelAll()
    }
    world.check(world.network.inFlight == 0, "\(world.network.inFlight) requests are under way, and nobody is there")
  }

  private static let outboxBody: @Sendable (SimulatedWorld) async throws -> Void = { world in
    let town = try OutboxWorld(world)
    await world.users(4, steps: 1...12) { try await town.step($0) }
    try await town.recover()
    try await town.judgeEnd()
  }

  private static let fleetBody: @Sendable (SimulatedWorld) async throws -> Void = { world in
    let cluster = Cluster(world)
    await cluster.begin()
    // Until it follows, a server asks by itself.
    if cluster.traits.isSound { try? await world.clock.sleep(for: .seconds(1)) }
    await world.users(4, steps: 4...20) { try await cluster.step($0) }
    await cluster.judgeEnd()
  }

  private static let listsBody: @Sendable (SimulatedWorld) async throws -> Void = { world in
    let newsstand = ListWorld(world)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<2 where world.draws.chance(0.8) {
        newsstand.beginWatching(number)
        group.addTask { await newsstand.watch(number) }
      }
      await world.users(3, steps: 2...12) { try await newsstand.step($0) }
      world.currentFaults = .none
      await newsstand.judgeQuiet()
      await newsstand.judgeWatchers()
      group.cancelAll()
    }
    await newsstand.judgeEnd()
    world.check(world.network.inFlight == 0, "\(world.network.inFlight) requests are under way, and nobody is there")
  }

  private static let liveBody: @Sendable (SimulatedWorld) async throws -> Void = { world in
    let live = LiveWorld(world)
    await withTaskGroup(of: Void.self) { group in
      for layer in 0..<2 { group.addTask { await live.watch(layer) } }
      await world.users(3, steps: 2...12) { try await live.step($0) }
      world.currentFaults = .none
      await live.judgeEnd()
      group.cancelAll()
    }
    live.release()
    world.check(world.network.inFlight == 0, "\(world.network.inFlight) requests are under way, and nobody is there")
  }

  private static let crashBody: @Sendable (SimulatedWorld) async throws -> Void = { world in
    let model = ReferenceModel(world)
    let client = CacheClient("ann", model, world.disk.open(), isForgetful: true, mayLook: true)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        await world.users(3, steps: 2...10) { user in
          guard user.draws.chance(0.5) else { return try await client.step(user) }
          try await client.fetchFromNetwork(client.place(user.draws), user)
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
    // Requests that ended with the process must not count for the next.
    try await world.clock.sleep(for: .seconds(300))
    world.currentFaults = .none
    if world.draws.chance(0.5) { world.setClock(world.draws, upTo: .seconds(86_400)) }
    let survivor = CacheClient("ann", model, world.disk.open(), isForgetful: true)
    survivor.judge(await world.disk.records())
    for place in Place.all("ann") { await survivor.judgeSurvival(place) }
    await survivor.judgeRecovery()
  }
}
