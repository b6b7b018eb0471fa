import CommandSupport
import Foundation
import ReactorTesting
import Testing

@Suite struct `reactor send and reactor outbox, killed at random moments` {
  /// `REACTOR_KILLS` is the number of trials, each of about twenty kills, and `REACTOR_SEED` the
  /// seed of the first one.
  private static let trials = max(1, environment("REACTOR_KILLS").map { Int($0) } ?? 16)
  private static let seed = environment("REACTOR_SEED") ?? .random(in: 0 ... .max)

  private static func environment(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  /// The trials that run at once; most of the time, they wait.
  private static let width = 4

  @Test func `have applied what they acknowledged exactly once, or list it`() async throws {
    print("Killed outboxes: REACTOR_SEED=\(Self.seed) REACTOR_KILLS=\(Self.trials)")
    var (kills, requests) = (0, 0)
    try await withThrowingTaskGroup(of: (UInt64, OutboxKillTrial.Outcome).self) { group in
      for trial in 0..<Self.trials {
        if trial >= Self.width, let (seed, outcome) = try await group.next() { check(seed, outcome) }
        group.addTask { try await Self.run(Self.seed &+ UInt64(trial)) }
      }
      for try await (seed, outcome) in group { check(seed, outcome) }
    }
    print("Killed outboxes: \(kills) kills, \(requests) requests")
    #expect(kills > Self.trials && requests > Self.trials)

    func check(_ seed: UInt64, _ outcome: OutboxKillTrial.Outcome) {
      kills += outcome.kills
      requests += outcome.requests
      #expect(outcome.faults.isEmpty, "REACTOR_SEED=\(seed) REACTOR_KILLS=1")
    }
  }

  /// The seed says which kind of outbox it is.
  private static func run(_ seed: UInt64) async throws -> (UInt64, OutboxKillTrial.Outcome) {
    try await TemporaryDirectory.use { directory in
      let path = directory.appending(path: seed.isMultiple(of: 2) ? "outbox" : "outbox.sqlite")
      return (seed, try await OutboxKillTrial(seed: seed, path: path.path(percentEncoded: false)).run())
    }
  }

  /// Nothing releases the lease here, so this test takes the 30 seconds that a lease lasts.
  @Test(arguments: ["outbox", "outbox.sqlite"])
  func `leave a lease behind that a drain of half a minute outlasts`(kind: String) async throws {
    try await TemporaryDirectory.use { directory in
      let server = try MockServer()
      defer { server.stop() }
      server.answer("/a", with: .silence, .status(204))
      let path = directory.appending(path: kind).path(percentEncoded: false)
      #expect(try await Command.run("send", server.url.absoluteString + "/a", "--outbox", path).status == 0)
      let drain = Task { try await Command.run("outbox", "drain", "--outbox", path) }
      try await server.waitForRequests()
      drain.cancel()
      #expect(try await drain.value.status == SIGKILL)
      let next = try await Command.run("outbox", "drain", "--outbox", path)
      #expect(next.status == 0 && next.output == "0\n")
      let keys = server.requests.map { $0["Idempotency-Key"] }
      #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
    }
  }
}
