import CommandSupport
import Foundation
import ReactorCore
import ReactorOutbox
import ReactorSQLite
import ReactorTesting
import Synchronization

/// Senders and drains of one outbox that are killed at random moments, and a last drain that is
/// not.
final class OutboxKillTrial: Sendable {
  /// The known facts of one numbered request.
  private struct Request: Sendable {
    var id: String?
    var isKeyed = true
    /// The number of the lane, whose requests are made one after the other.
    var lane: Int
    /// The exit code of a sender that was not killed, and has waited for the end.
    var waited: Int32?
    var withdrawal: Withdrawal?
  }

  private enum Withdrawal: Sendable {
    case done, failed
    /// It was killed, so the outcome is unknown.
    case unknown
  }

  struct Line: Decodable {
    var id: String
    var state: String
    var url: String
  }

  let seed: UInt64
  private let path: String
  private let server: ApplyingServer
  private let listener: MockServer
  private let requests = Mutex<[Int: Request]>([:])
  private let killed = Atomic<Int>(0)

  private static let lanes = 3
  private static let rounds = 4

  init(seed: UInt64, path: String) throws {
    self.seed = seed
    self.path = path
    let server = ApplyingServer(seed: seed)
    self.server = server
    listener = try MockServer { server.respond(to: $0) }
  }

  struct Outcome: Sendable {
    var kills: Int
    var requests: Int
    var faults: [String]
  }

  func run() async throws -> Outcome {
    defer { listener.stop() }
    let generator = SeededGenerator(seed: seed)
    for round in 0..<Self.rounds {
      let seeds = (0..<Self.lanes + 2).map { _ in generator.next() }
      try await withThrowingTaskGroup { group in
        for lane in 0..<Self.lanes { group.addTask { try await self.send(in: lane, round, seeds[lane]) } }
        for drain in 0..<2 { group.addTask { try await self.drain(seeds[Self.lanes + drain]) } }
        try await group.waitForAll()
      }
      try await endLeases()
    }
    let last = try await Command.run(["outbox", "drain", "--outbox", path, "--within", "50s", "--trace"])
    var faults = try await faults()
    if last.status != 0 || last.output != "0\n" {
      faults.append("the last drain ended with \(last.status): \(last.output) \(last.error)")
    }
    return Outcome(kills: killed.load(ordering: .relaxed), requests: requests.withLock(\.count), faults: faults)
  }

  /// Sends some requests of a lane, one after the other.
  private func send(in lane: Int, _ round: Int, _ seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    for index in 0..<Int.random(in: 1...3, using: &generator) {
      let number = lane * 1000 + round * 10 + index
      var arguments = ["send", listener.url.absoluteString + "/\(lane)/\(number)"]
      arguments += ["--outbox", path, "--lane", "\(lane)", "--body", "\(number)"]
      var request = Request(lane: lane)
      switch Int.random(in: 0..<8, using: &generator) {
      case 0:
        arguments += ["--method", "PUT"]
      case 1:
        arguments += ["--idempotency-window", "0s"]
        request.isKeyed = false
      default: break
      }
      let waits = Int.random(in: 0..<3, using: &generator) == 0
      if waits { arguments += ["--wait", "2s"] }
      let made = request
      requests.withLock { $0[number] = made }
      let result = try await run(arguments, kills: Int.random(in: 0..<2, using: &generator) == 0, &generator)
      let id = result.output.split(separator: "\n", omittingEmptySubsequences: false)
      requests.withLock { requests in
        // A line that is cut off has no newline behind it.
        if id.count > 1 { requests[number]?.id = String(id[0]) }
        if waits, !result.isKilled { requests[number]?.waited = result.status }
      }
      if id.count > 1, Int.random(in: 0..<6, using: &generator) == 0 {
        try await withdraw(String(id[0]), number, &generator)
      }
    }
  }

  private func withdraw(_ id: String, _ number: Int, _ generator: inout SeededGenerator) async throws {
    let kills = Int.random(in: 0..<3, using: &generator) == 0
    let result = try await run(["outbox", "withdraw", "--outbox", path, id], kills: kills, &generator)
    let withdrawal: Withdrawal = result.isKilled ? .unknown : result.status == 0 ? .done : .failed
    requests.withLock { $0[number]?.withdrawal = withdrawal }
  }

  private func drain(_ seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<2 {
      _ = try await run(["outbox", "drain", "--outbox", path, "--within", "2s"], kills: true, &generator)
    }
  }

  private struct Result {
    var status: Int32
    var output: String
    var isKilled: Bool
  }

  /// Runs the command, and kills it at a random moment if `kills` is `true`.
  private func run(_ arguments: [String], kills: Bool, _ generator: inout SeededGenerator) async throws -> Result {
    let process = Task { try await Command.run(arguments, cancelSignal: SIGKILL) }
    // Most work is done in the first tenths of a second.
    let moment = Int.random(in: 20...Int.random(in: 40...500, using: &generator), using: &generator)
    if kills {
      try await Task.sleep(for: .milliseconds(moment))
      process.cancel()
    }
    let result = try await process.value
    let isKilled = kills && result.status == SIGKILL
    if isKilled { killed.add(1, ordering: .relaxed) }
    return Result(status: result.status, output: result.output, isKilled: isKilled)
  }

  /// Ends the leases of the killed processes, as 30 seconds would.
  private func endLeases() async throws {
    let storage = try storage()
    for (id, lease) in try await storage.contents(of: .shared).leases {
      try await storage.release(id, in: .shared, by: lease.process)
    }
  }

  private func storage() throws -> any OutboxStorage {
    path.hasSuffix(".sqlite")
      ? try SQLiteOutboxStorage(path: path) : FileOutboxStorage(directory: URL(filePath: path))
  }
}

/// Compares the server's records with the command's output.
extension OutboxKillTrial {
  private func faults() async throws -> [String] {
    let list = try await Command.run(["outbox", "list", "--outbox", path, "--json"])
    let lines = try JSONDecoder().decode([Line].self, from: Data(list.output.utf8))
    var faults = server.faults
    let states = Dictionary(lines.map { (Int($0.url.split(separator: "/").last ?? "") ?? -1, $0) }) { first, second in
      faults.append("two entries are one request: \(first), \(second)")
      return first
    }
    for (number, request) in requests.withLock(\.self).sorted(by: { $0.key < $1.key }) {
      let fault = fault(of: request, applied: server.count(of: number), states[number])
      if let fault { faults.append("request \(number), \(request): \(fault)") }
    }
    for lane in 0..<Self.lanes {
      let numbers = server.applied.filter { $0.lane == "\(lane)" }.map(\.number)
      if numbers != numbers.sorted() { faults.append("lane \(lane) was applied in the order \(numbers)") }
    }
    return faults
  }

  private func fault(of request: Request, applied: Int, _ line: Line?) -> String? {
    if applied > 1 { return "applied \(applied) times" }
    if let line, line.state != "refused", line.state != "unresolved" { return "it is \(line.state) in the end" }
    if let line, let id = request.id, line.id != id { return "it has the id \(line.id)" }
    if line?.state == "refused", applied > 0 { return "refused, and applied" }
    if line?.state == "unresolved", request.isKeyed { return "unresolved in spite of its key" }
    switch request.withdrawal {
    case .done:
      return applied == 0 && line == nil
        ? nil : "withdrawn, and applied \(applied) times or \(line == nil ? "" : "listed")"
    case .unknown: break
    case .failed, nil:
      if request.id != nil, applied == 0, line == nil { return "it is lost" }
    }
    switch request.waited {
    case 0 where applied != 1 || line != nil: return "said to be accepted, and applied \(applied) times"
    case 76 where line == nil: return "said to be refused, and not listed"
    default: return nil
    }
  }
}
