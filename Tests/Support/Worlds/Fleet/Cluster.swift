import Foundation
import HTTPCaching
import HTTPTypes
import ReactorConformance
import ReactorFleet
import ReactorTesting
import Synchronization

/// Servers that share one store, which loses messages, freezes, fails over and forgets, and clients
/// who ask any of them.
final class Cluster: Sendable {
  let world: SimulatedWorld
  let traits: ClusterTraits
  let origin: ClusterOrigin
  let store: ClusterStore
  private let draws: SeededDraws
  private let servers: Shared<[ClusterServer?]>
  private let disks: [MemoryPersistence]
  private let lastServer = Shared(0)
  /// The changes that the store has acknowledged to a server, each path's latest.
  private let changes = Mutex<[String: [Change]]>([:])

  /// A change that a client was told of.
  struct Change: Sendable {
    let server: Int
    /// When the server was asked to make it.
    let begun: Duration
    /// When it has told that it is made.
    var ended: Duration
  }

  init(_ world: SimulatedWorld) {
    self.world = world
    world.currentFaults = .none
    let draws = world.draws.split()
    self.draws = draws
    traits = ClusterTraits(draws)
    world.note("\(traits)")
    origin = ClusterOrigin(world, traits, draws.split())
    store = ClusterStore(world, traits)
    servers = Shared(Array(repeating: nil, count: traits.servers))
    disks = (0..<traits.servers).map { _ in MemoryPersistence() }
  }

  private var now: Duration { world.clock.now.elapsed }
  private var running: [ClusterServer] { servers.value.compactMap(\.self) }

  func begin() async { for place in servers.value.indices { await begin(place) } }

  private func begin(_ place: Int) async {
    let number = lastServer.change { last in
      last += 1
      return last
    }
    let server = ClusterServer(number, self, disks[place], draws.split())
    servers.change { $0[place] = server }
    await server.begin()
  }

  // MARK: - Clients

  func step(_ user: SimulatedUser) async throws {
    guard let server = user.draws.element(of: running), let path = user.draws.element(of: ClusterOrigin.paths) else {
      return
    }
    switch user.draws.number(below: 100) {
    case 0..<3 where traits.stops: await server.stop(for: user.draws.duration(upTo: .seconds(40)))
    case 0..<3 where traits.refuses:
      store.refuse()
      try? await world.clock.sleep(for: user.draws.duration(upTo: .seconds(20)))
      store.accept()
    case 0..<75: await get(path, from: server, user.draws)
    case 75..<88: await put(path, through: server)
    case 88..<91: await invalidate(path, through: server, user.draws)
    case 91..<93: origin.change(path)
    case 93..<95 where traits.restarts: await restart(user.draws)
    case 95..<97 where traits.freezes:
      store.freeze()
      try? await world.clock.sleep(for: user.draws.duration(upTo: .seconds(15)))
      store.thaw()
    case 97..<98 where traits.failsOver: await failOver(user.draws)
    case 98..<100 where traits.evicts: evict(path, user.draws)
    default: await get(path, from: server, user.draws)
    }
  }

  private func get(_ path: String, from server: ClusterServer, _ draws: SeededDraws) async {
    var fields: HTTPFields = [:]
    if path == "/vary" { fields[.acceptLanguage] = draws.element(of: ["de", "en"]) }
    if path == "/own", draws.chance(0.5) { fields[.authorization] = "Bearer \(ClusterOrigin.secret)" }
    await server.get(path, fields)
  }

  private func put(_ path: String, through server: ClusterServer) async {
    let begun = now
    origin.changes(path, 1)
    defer { origin.changes(path, -1) }
    // Other servers may also know of a change that the store refuses: they do not follow such a
    // store for long.
    guard let isAcknowledged = await server.put(path), isAcknowledged || traits.refuses else { return }
    let ended = now
    changes.withLock { $0[path, default: []].append(Change(server: server.number, begun: begun, ended: ended)) }
  }

  private func invalidate(_ path: String, through server: ClusterServer, _ draws: SeededDraws) async {
    await server.standstill.wait()
    let begun = now
    origin.changes(path, 1)
    defer { origin.changes(path, -1) }
    do throws(FleetError) {
      // What removes a URL ends the leases of its records.
      if traits.isSound || draws.chance(0.5) {
        try await server.fleet.invalidate(ClusterServer.url(path))
      } else {
        try await server.fleet.remove(ClusterServer.url(path))
      }
    } catch { return }
    guard !server.hasEnded else { return }
    world.note("server \(server.number) has invalidated \(path)")
    let ended = now
    changes.withLock { $0[path, default: []].append(Change(server: server.number, begun: begun, ended: ended)) }
  }

  private func restart(_ draws: SeededDraws) async {
    let place = draws.number(below: traits.servers)
    guard let server = servers.value[place] else { return }
    servers.change { $0[place] = nil }
    await server.end(crashes: draws.chance(0.5))
    try? await world.clock.sleep(for: draws.duration(upTo: .seconds(10)))
    await begin(place)
  }

  private func failOver(_ draws: SeededDraws) async {
    let time = now
    await store.failOver(draws)
    // What the replica lacks is announced again by the server that made it. If that server is gone,
    // or cannot reach the store, the others never learn of it.
    let end = now + traits.delivery
    let living = Set(running.filter { $0.fleet.status != .off }.map(\.number))
    changes.withLock { changes in
      for path in changes.keys {
        changes[path]?.removeAll { $0.ended >= time && !living.contains($0.server) }
        for index in changes[path]?.indices ?? 0..<0 where changes[path]?[index].ended ?? .zero >= time {
          changes[path]?[index].ended = end
        }
      }
    }
  }

  private func evict(_ path: String, _ draws: SeededDraws) {
    if draws.chance(0.2) {
      world.note("the store forgets everything")
      return store.memory.removeAll()
    }
    guard let id = running.first?.fleet.knownID(of: ClusterServer.url(path), in: .shared) else { return }
    world.note("the store forgets \(path)")
    store.memory.evict(id)
  }

  // MARK: - Judgement

  /// A response that was served from a cache as fresh was asked for after every change that the
  /// server must know of, and is not older than the origin allows.
  func judge(_ text: String, fresh isFresh: Bool, path: String, at time: Duration, _ who: String) {
    guard let exchanges = origin.exchanges(of: text) else {
      return world.check(false, "\(who) answers \(text), which the origin never has")
    }
    guard isFresh else { return }
    let age = time - exchanges.lastReceived
    world.check(
      age <= .seconds(ClusterOrigin.maximumAge + 1), "\(who) answers \(text) as fresh after \(age)")
    let latest = changes.withLock { changes in
      // What the store has refused is sent with the first beat after that.
      changes[path]?.filter { max($0.ended + traits.delivery, store.acceptedAt + .seconds(3)) < time }
        .max { $0.begun < $1.begun }
    }
    guard let latest else { return }
    world.check(
      exchanges.lastSent >= latest.begun,
      "\(who) answers \(text), asked for at \(exchanges.lastSent), after a change from \(latest.begun) to \(latest.ended)"
    )
  }

  /// Everything continues, and all servers agree.
  func judgeEnd() async {
    world.note("all is well")
    origin.recover()
    store.recover()
    for server in running { server.standstill.end() }
    for place in servers.value.indices where servers.value[place] == nil { await begin(place) }
    try? await world.clock.sleep(for: .seconds(90))
    for server in running {
      let fleet = server.fleet
      world.check(fleet.status == .following, "server \(server.number) is \(fleet.status) at the end")
      world.check(fleet.statistics.pendingInvalidations == 0, "server \(server.number) has not told all")
      world.check(
        fleet.statistics.waiting == 0, "\(fleet.statistics.waiting) requests of server \(server.number) wait at the end"
      )
    }
    guard let first = running.first else { return }
    for path in ClusterOrigin.paths {
      for server in running { await server.get(path, [:]) }
      origin.changes(path, 1)
      world.check(await first.put(path) == true, "a change fails at the end")
      origin.changes(path, -1)
      try? await world.clock.sleep(for: traits.latency * 2 + .milliseconds(50))
      for server in running {
        let text = await server.get(path, [:])
        let expected = "\(path) \(origin.version(of: path))"
        world.check(
          text?.trimmingCharacters(in: .whitespaces) == expected,
          "server \(server.number) answers \(text ?? "nothing") at the end, not \(expected)")
      }
    }
    for server in running { await server.end(crashes: false) }
    try? await world.clock.sleep(for: .seconds(5))
    servers.change { $0 = [] }
  }
}
