import Foundation
import ReactorCore
import ReactorFleet
import ReactorValkey

/// The cost of sharing responses with other servers: in memory, where it must cost nothing, and
/// where a response comes from the store.
enum FleetHit: Benchmark {
  static let name = "fleet"
  static let question = "a model that another server of the fleet has fetched, 1 KB; needs redis-server"

  static func measure(_ bench: Bench) async throws {
    try await measureMemory(bench)
    guard let redis = try RedisProcess() else {
      return print("fleet: left out, since redis-server is not installed")
    }
    let connection = ValkeyConnection(redis.address)
    let store = try ValkeyStore(connection, namespace: "bench")
    let records = try await fill(store, 1_000)
    let bare = Bare(connection)
    try await bare.fill(1_000)
    try await bench.compare(
      "a record from the store, 1 KB", to: "HMGET of a field", target: .ratio(1.5), clock: .elapsed,
      job: { count in
        for index in 0..<count {
          blackHole(try await store.read(records[index % records.count], known: nil))
        }
      },
      limit: { count in
        for index in 0..<count { blackHole(try await bare.read(index % records.count)) }
      })
    try await measureFetch(bench, redis, bare)
    try await measureMany(bench, store, records, redis)
    try await measureScripts(bench, store, records, connection)
    await connection.close()
  }

  /// A layer of a fleet beside a layer without one.
  private static func measureMemory(_ bench: Bench) async throws {
    let articles = try StoredArticles(1_000)
    // A resource remembers its place in the memory of one layer: each layer has its own.
    let others = try StoredArticles(1_000)
    let alone = try await MemoryHit.filledReactor(others)
    let server = try await Server(MemoryFleetStore(), InstantTransport(body: articles.body))
    for resource in articles.resources { blackHole(try await server.reactor.fetch(resource)) }
    let reactor = server.reactor
    try expect(articles.resources.allSatisfy { reactor.cached($0) != nil }, "all is in memory")
    try await bench.compare(
      "memory hit of a layer of a fleet, 1 KB", to: "of a layer alone", target: .ratio(1.02),
      job: MemoryHit.fetching(articles.resources, reactor), limit: MemoryHit.fetching(others.resources, alone))
    await server.stop()
  }

  /// A second layer fetches what a first has stored; its own memory holds a part of it.
  private static func measureFetch(_ bench: Bench, _ redis: RedisProcess, _ bare: Bare) async throws {
    let articles = try StoredArticles(20_000)
    let first = try await Server(
      ValkeyStore(redis.address, namespace: "fetch"), InstantTransport(body: articles.body))
    for start in stride(from: 0, to: articles.resources.count, by: 100) {
      blackHole(await first.reactor.fetchAll(Array(articles.resources[start..<start + 100])))
    }
    let second = try await Server(ValkeyStore(redis.address, namespace: "fetch"), NoTransport())
    let (fetching, indices) = (MemoryHit.fetching(articles.resources, second.reactor), 1_000)
    try await bench.compare(
      "fetch that the fleet answers, 1 KB", to: "HMGET of a field, and a decoder", target: nil, clock: .elapsed,
      job: fetching,
      limit: { count in
        for index in 0..<count {
          blackHole(try JSONDecoder().decode([Article].self, from: try await bare.read(index % indices)))
        }
      })
    await first.stop()
    await second.stop()
  }

  private static func measureMany(
    _ bench: Bench, _ store: ValkeyStore, _ records: [FleetRecordID], _ redis: RedisProcess
  ) async throws {
    let (tasks, each) = (32, 100)
    try await bench.compare(
      "a record from the store, 32 at once", to: "redis-benchmark -c 32 HMGET", target: .ratio(2), clock: .elapsed,
      processors: 2, operations: (tasks * each, 20_000),
      job: { count in
        for _ in 0..<count {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
              group.addTask {
                for index in 0..<each {
                  blackHole(try await store.read(records[(task * each + index) % records.count], known: nil))
                }
              }
            }
            try await group.waitForAll()
          }
        }
      },
      limit: { count in
        for _ in 0..<count { try await redis.benchmark(20_000) }
      })
  }

  /// The time that the server itself says.
  private static func measureScripts(
    _ bench: Bench, _ store: ValkeyStore, _ records: [FleetRecordID], _ connection: ValkeyConnection
  ) async throws {
    let bytes = Data(repeating: 7, count: 1_000)
    let times = ServerTimes(connection)
    let write = try await times.of("set", rounds: 9) {
      for index in 0..<1_000 {
        _ = try await connection.send(["SET", "bench-\(index)"].map { Data($0.utf8) } + [bytes])
      }
    }
    let bodies: [(String, (FleetRecordID, FleetTicket) async throws -> Void)] = [
      (
        "begin",
        { record, _ in _ = try await store.begin(record, .ticket, lease: .seconds(2), retention: .seconds(60)) }
      ),
      (
        "commit",
        { _, ticket in
          _ = try await store.commit(
            ticket, .response(head: Data(repeating: 1, count: 300), body: bytes), retention: .seconds(60))
        }
      ),
      ("fence", { record, _ in _ = try await store.fence(record.url, removes: false, replaying: nil) }),
    ]
    for (name, body) in bodies {
      var tickets: [FleetTicket] = []
      let time = try await times.of("evalsha", rounds: 9) {
        tickets = try await draw(store, records)
      } measured: {
        for (record, ticket) in zip(records, tickets) { try await body(record, ticket) }
      }
      bench.add(
        Figure(
          benchmark: bench.benchmark, name: "the script \(name), in the server", baselineName: "SET of 1 KB",
          unit: .nanoseconds, clock: .elapsed, value: time.median, baseline: write.median,
          ratio: time.median / write.median,
          spread: Figure.Spread(
            low: time.quantile(0.25) / write.median, high: time.quantile(0.75) / write.median),
          difference: time.median - write.median, rounds: time.count, target: .ratio(6)))
    }
  }

  private static func draw(_ store: ValkeyStore, _ records: [FleetRecordID]) async throws -> [FleetTicket] {
    var tickets: [FleetTicket] = []
    for record in records {
      switch try await store.begin(record, .ticket, lease: .seconds(2), retention: .seconds(60)) {
      case .granted(let ticket, _), .pass(let ticket, _): tickets.append(ticket)
      case .held, .failed: throw Unexpected(description: "a ticket was refused")
      }
    }
    return tickets
  }

  private static func fill(_ store: ValkeyStore, _ count: Int) async throws -> [FleetRecordID] {
    let articles = try StoredArticles(1)
    let records = (0..<count).map { index in
      let digits = String(index, radix: 16)
      let url = FleetURLID(text: String(repeating: "0", count: 64 - digits.count) + digits)
      return FleetRecordID(url: url, name: "0123456789abcdef")
    }
    for ticket in try await draw(store, records) {
      let head = Data(repeating: 1, count: 300)
      let end = try await store.commit(
        ticket, .response(head: head, body: articles.body), retention: .seconds(3_600))
      try expect(end == .kept, "the record is stored")
    }
    return records
  }
}

/// A layer whose memory holds little, and its fleet.
private final class Server: Sendable {
  let reactor: Reactor<[Article]>
  private let fleet: Fleet
  private let running: Task<Void, Never>

  init(_ store: any FleetStore, _ transport: some Transport) async throws {
    let fleet = Fleet(store)
    self.fleet = fleet
    var configuration = ReactorConfiguration()
    configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: 1_000, bytes: 1 << 30)
    let layer = ModelLayer(
      baseURL: StoredArticles.baseURL, transport: transport, reachability: .always, configuration: configuration,
      extensions: [.fleet(fleet)])
    reactor = layer.reactor()
    running = Task { try? await fleet.run() }
    let end = ContinuousClock.now + .seconds(10)
    while fleet.status != .following {
      try expect(ContinuousClock.now < end, "the fleet is followed")
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  func stop() async {
    running.cancel()
    await running.value
  }
}

/// Bodies in hashes of one field, as a program keeps them by hand.
private struct Bare: Sendable {
  private let connection: ValkeyConnection

  init(_ connection: ValkeyConnection) { self.connection = connection }

  func fill(_ count: Int) async throws {
    let body = try StoredArticles(1).body
    for index in 0..<count {
      _ = try await connection.send(["HSET", "bare:\(index)", "b"].map { Data($0.utf8) } + [body])
    }
  }

  func read(_ index: Int) async throws -> Data {
    guard
      let body = try await connection.send(["HMGET", "bare:\(index)", "b"].map { Data($0.utf8) }).elements?[0].bytes
    else { throw Unexpected(description: "a body is missing") }
    return body
  }
}

/// The times that the server needs for commands, by its own count.
private struct ServerTimes {
  private let connection: ValkeyConnection

  init(_ connection: ValkeyConnection) { self.connection = connection }

  /// Nanoseconds of each call, for each round.
  func of(
    _ command: String, rounds: Int, before: () async throws -> Void = {}, measured: () async throws -> Void
  ) async throws -> [Double] {
    var times: [Double] = []
    for _ in 0..<rounds {
      try await before()
      _ = try await send("CONFIG RESETSTAT")
      try await measured()
      let text = try await send("INFO commandstats").text ?? ""
      let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("cmdstat_\(command):") }
      guard let figure = line?.split(separator: ",").first(where: { $0.hasPrefix("usec_per_call=") }),
        let microseconds = Double(figure.dropFirst("usec_per_call=".count))
      else { throw Unexpected(description: "the server does not say how long \(command) takes") }
      times.append(microseconds * 1_000)
    }
    return times
  }

  private func send(_ text: String) async throws -> ValkeyReply {
    try await connection.send(text.split(separator: " ").map { Data($0.utf8) })
  }
}
