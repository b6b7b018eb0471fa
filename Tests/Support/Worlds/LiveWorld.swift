import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorLive
import ReactorTesting
import Synchronization

extension LiveWorld {
  /// A number whose server counts its changes.
  struct Count: Codable, Hashable { var count: Int }

  /// A layer in one process.
  struct Process: Sendable {
    let layer: ModelLayer
    let reactor: Reactor<Count>
    let process: SimulatedProcess
  }
}

/// A world of layers that follow the changes of a server, and make changes. The server forgets its
/// history, restarts with another one, cuts streams, falls silent and repeats events. A proxy
/// begins to hold responses back until their end, and lets streams through again. The server tells
/// changes with or without entity tags, values, differences and the ids of writes, and removals.
/// Its replicas lag. The processes of the layers are killed and launched again.
final class LiveWorld: Sendable {
  struct Server {
    var counts = [Int](repeating: 1, count: LiveWorld.paths)
    /// The paths that are removed until their next change.
    var gone: Set<Int> = []
    var space = 1
    /// The change of each position of the space, from the first that is kept.
    var log: [String] = []
    /// The counts of the replica that lags, and the time until which it does.
    var replica: [Int] = []
    var lagsUntil: Duration = .zero
    /// The old versions that a replica has answered with, by path.
    var lags = [Set<Int>](repeating: [], count: LiveWorld.paths)
    var first = 1
    /// The streams are cut, or fall silent, up to this number.
    var cutUntil = 0
    var silentUntil = 0
    var streams = 0
    /// A proxy holds each response back until its end.
    var isHeldBack = false

    var head: String { "s\(space).\(first + log.count - 1)" }
  }

  static let paths = 6
  /// The path that is never fetched nor observed.
  static let quiet = 5
  static let heartbeat: Duration = .seconds(5)

  let world: SimulatedWorld
  let server = Mutex(Server())
  private let backend: Backend
  private let live: LiveConfiguration
  private let haveDisks: [Bool]
  /// The process of each layer that runs now.
  let processes: Shared<[Process]>
  let relaunches = Shared([0, 0])
  /// The paths that each layer's user watches.
  let watched: [[Int]]
  /// The number of removals that have begun, for each layer.
  private let removals: [Shared<Int>]
  let requests = Shared<[Int]>([Int](repeating: 0, count: LiveWorld.paths))
  /// The time at which a stream of each layer last had a byte.
  let heardAt = Shared<[Duration]>([.zero, .zero])
  private let limit: Int
  /// For the streams, until ``release()``.
  let itself = Shared<LiveWorld?>(nil)

  init(_ world: SimulatedWorld) {
    self.world = world
    let draws = world.draws
    limit = draws.number(in: 2...20)
    let network = world.network
    backend = Backend(
      baseURL: URL(string: "https://api.example.com") ?? URL(filePath: "/"), transport: network,
      reachability: world.reachability)
    var live = LiveConfiguration()
    live.seed = world.seed
    live.concurrency = draws.number(in: 1...4)
    if draws.chance(0.2) { live.opens = .always }
    self.live = live
    haveDisks = (0..<2).map { _ in draws.chance(0.7) }
    processes = Shared([])
    watched = (0..<2).map { _ in (0..<Self.quiet).filter { _ in draws.chance(0.5) } }
    removals = (0..<2).map { _ in Shared(0) }
    itself.change { [self] in $0 = self }
    processes.change { [self] in $0 = (0..<2).map(launch) }
    network.serve { [weak self] request, _ in
      self?.answer(request) ?? (HTTPResponse(status: .notFound), Data())
    }
  }

  /// Ends the cycle of the streams and this world.
  func release() { itself.change { $0 = nil } }

  private func launch(_ number: Int) -> Process {
    let process = SimulatedProcess()
    let layer = ModelLayer(
      backend: backend, persistence: haveDisks[number] ? world.disk.open(in: process) : nil, scope: Scope("\(number)"),
      configuration: world.configuration,
      extensions: [
        .live(.changes, live, base: { _ in "https://api.example.com/events" }) {
          [itself] _, request throws(ReactorError) in
          guard let world = itself.value, !process.hasCrashed else { throw .cancelled }
          return try await world.open(request, of: number)
        }
      ])
    return Process(layer: layer, reactor: layer.reactor(), process: process)
  }

  private func relaunch(_ number: Int) {
    world.note("layer \(number) is relaunched")
    relaunches.change { $0[number] += 1 }
    // Tags are of one process.
    server.withLock { $0.lagsUntil = .zero }
    let (old, new) = (processes.value[number], launch(number))
    processes.change { $0[number] = new }
    old.process.crash()
  }

  private func answer(_ request: HTTPRequest) -> (HTTPResponse, Data) {
    let path = Int((request.path ?? "").dropFirst()) ?? 0
    guard request.method == .get else { return accept(path, by: request.headerFields[.changeID]) }
    requests.change { $0[path] += 1 }
    let now = world.clock.now.elapsed
    let asksReplica = world.draws.chance(0.5)
    let answer = server.withLock { server -> Int? in
      if server.gone.contains(path) { return nil }
      guard asksReplica, now < server.lagsUntil, server.replica[path] < server.counts[path] else {
        return server.counts[path]
      }
      server.lags[path].insert(server.replica[path])
      return server.replica[path]
    }
    guard let count = answer else { return (HTTPResponse(status: .notFound), Data()) }
    let fields: HTTPFields = [.cacheControl: "max-age=100000", .eTag: "\"\(count)\""]
    if request.headerFields[.ifNoneMatch] == "\"\(count)\"" {
      return (HTTPResponse(status: .notModified, headerFields: fields), Data())
    }
    return (HTTPResponse(status: .ok, headerFields: fields), Data(#"{"count":\#(count)}"#.utf8))
  }

  /// Answers a write, which the server tells before its answer arrives, or after it.
  private func accept(_ path: Int, by id: String?) -> (HTTPResponse, Data) {
    let count = change(path, by: id)
    let fields: HTTPFields = world.draws.chance(0.5) ? [.eTag: "\"\(count)\""] : [:]
    return (HTTPResponse(status: .noContent, headerFields: fields), Data())
  }
}

extension LiveWorld {
  func watch(_ layer: Int) async {
    while !Task.isCancelled {
      let process = processes.value[layer]
      await withTaskGroup(of: Void.self) { group in
        for path in watched[layer] { group.addTask { [self] in await watch(path, of: layer, process.reactor) } }
        try? await process.process.waitForCrash()
        group.cancelAll()
      }
    }
  }

  private func watch(_ path: Int, of layer: Int, _ reactor: Reactor<Count>) async {
    var (latest, removal) = (0, 0)
    for await state in reactor.states(for: Resource("\(path)")) {
      guard let count = state.value?.count else { continue }
      // After a removal, a value is a new one. A replica may have answered with an old one.
      let present = removals[layer].value
      if present == removal, !server.withLock({ $0.lags[path].contains(count) }) {
        world.check(count >= latest, "\(path) of \(layer) went from \(latest) to \(count)")
      }
      (latest, removal) = (count, present)
    }
  }

  func step(_ user: SimulatedUser) async throws {
    let layer = user.number % 2
    let path = user.draws.number(below: Self.paths)
    let present = processes.value[layer]
    switch user.draws.number(below: 16) {
    case 0..<5: change(path)
    case 5:
      for _ in 0..<user.draws.number(in: 2...30) { change(path) }
    case 6, 7, 14: disturb(user.draws)
    case 8:
      guard user.draws.chance(0.3) else { return }
      world.note("layer \(layer) forgets everything")
      removals[layer].change { $0 += 1 }
      try? await present.layer.removeAll()
    case 9: present.layer.live?.reconnect()
    case 10: await present.layer.invalidate(user.draws.chance(0.5) ? .all : .resource(Resource("\(path)")))
    case 11: relaunch(layer)
    case 12, 13:
      world.note("layer \(layer) writes \(path)")
      _ = try await user.impatiently(in: world) {
        try? await present.layer.send(Resource("\(path)", method: .put, body: Data()))
      }
    case 15: remove(path)
    default:
      let path = user.draws.number(below: Self.quiet)
      world.note("layer \(layer) fetches \(path)")
      _ = try await user.impatiently(in: world) {
        try? await present.reactor.fetch(
          Resource("\(path)"), policy: user.draws.chance(0.5) ? .cacheFirst : .networkOnly)
      }
    }
    judgeStatus(layer)
  }

  /// A fault of the server.
  private func disturb(_ draws: SeededDraws) {
    switch draws.number(below: 5) {
    case 4:
      server.withLock { server in
        server.isHeldBack.toggle()
        world.note("responses are \(server.isHeldBack ? "" : "not ")held back")
        if server.isHeldBack { server.silentUntil = server.streams }
      }
    case 0:
      world.note("the server restarts")
      server.withLock { server in
        (server.space, server.log, server.first) = (server.space + 1, [], 1)
        (server.cutUntil, server.lagsUntil) = (server.streams, .zero)
      }
    case 1:
      world.note("the streams are cut")
      server.withLock { $0.cutUntil = $0.streams }
    case 2:
      world.note("the streams fall silent")
      server.withLock { $0.silentUntil = $0.streams }
    default:
      world.note("a replica lags")
      let until = world.clock.now.elapsed + draws.duration(upTo: .seconds(3))
      // A version that a layer has never had is accepted whenever it comes.
      let held = (0..<Self.paths).map { path in
        processes.value.map { $0.reactor.cached(Resource("\(path)"))?.count }
      }
      server.withLock { server in
        let counts = server.counts
        server.replica = counts.indices.map { path in
          held[path].allSatisfy { $0 == counts[path] } ? counts[path] : .max
        }
        server.lagsUntil = until
      }
    }
  }

  /// Changes a path, and tells it in one of the ways.
  ///
  /// - Returns: the new count.
  @discardableResult private func change(_ path: Int, by id: String? = nil) -> Int {
    let now = world.clock.now.elapsed
    let draw = world.draws.number(below: 4)
    return server.withLock { server in
      // Without a tag, the answer of a lagging replica looks like any other.
      let way = now < server.lagsUntil ? max(draw, 1) : draw
      let count = server.counts[path] + 1
      server.counts[path] = count
      server.gone.remove(path)
      var told = #""url":"/\#(path)""#
      if let id { told += #","by":"\#(id)""# }
      if way > 0 { told += #","etag":"\"\#(count)\"""# }
      if way > 1 { told += #","from":"\"\#(count - 1)\"""# }
      if way == 2 { told += #","value":"{\"count\":\#(count)}""# }
      if way == 3 { told += #","merge":{"count":\#(count)}"# }
      server.tell(told, limit: limit)
      world.note("\(path) is \(count), at \(server.head)")
      return count
    }
  }

  /// Removes a path until its next change.
  private func remove(_ path: Int) {
    let now = world.clock.now.elapsed
    server.withLock { server in
      // The removal has no tag, and the answer of a lagging replica looks like any other.
      guard now >= server.lagsUntil else { return }
      server.gone.insert(path)
      server.tell(#""url":"/\#(path)","gone":true"#, limit: limit)
      world.note("\(path) is gone, at \(server.head)")
    }
  }
}
