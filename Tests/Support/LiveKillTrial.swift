#if os(macOS) || os(Linux)
  public import Foundation
  import ReactorTesting

  /// Kills a server whose counts grow and a client that follows them, by turns, and compares both
  /// once the counts rest.
  public struct LiveKillTrial {
    private let directory: URL
    private let seed: UInt64
    private var generator: SeededGenerator
    private var port = 0
    private var started: UInt64 = 0
    private var outcome = Outcome()

    public init(in directory: URL, seed: UInt64) {
      (self.directory, self.seed, generator) = (directory, seed, SeededGenerator(seed: seed))
    }

    public struct Outcome: Sendable {
      public var kills = 0
      /// The changes that the server has made.
      public var changes = 0
      /// The streams that continued behind their last change, and those that could not.
      public var resumed = 0
      public var gaps = 0
      /// The longest time from the last change to a client that shows all counts.
      public var slowest: Duration = .zero
      public var faults: [String] = []
    }

    public mutating func run(kills: Int) async throws -> Outcome {
      var server = try await newServer()
      var client = try newClient()
      try await compare(server, client, "before the first kill")
      // A difference stays, so the first one ends the trial.
      for kill in 0..<kills where outcome.faults.isEmpty {
        try server.tell("g")
        try await pause(5...250)
        if kill.isMultiple(of: 2) {
          end(server)
          try await pause(0...300)
          server = try await newServer()
          try server.tell("g")
        } else {
          // At its end, a client saves its place in the history, and what is stale there.
          if Bool.random(using: &generator) {
            try server.tell("d")
            try await pause(0...200)
          }
          end(client)
          try await pause(0...300)
          client = try newClient()
        }
        outcome.kills += 1
        try await pause(0...200)
        try await compare(server, client, "kill \(kill) of the \(kill.isMultiple(of: 2) ? "server" : "client")")
      }
      end(server)
      end(client)
      return outcome
    }

    /// Compares all counts once they rest.
    private mutating func compare(_ server: LiveProcess, _ client: LiveProcess, _ name: String) async throws {
      let start = server.lines.count
      try server.tell("s")
      let counts = try await server.line(behind: start) { line in
        line.hasPrefix("counts ") ? line.split(separator: " ").dropFirst().compactMap { Int($0) } : nil
      }
      let changes = counts.reduce(0, +)
      if changes < outcome.changes { outcome.faults.append("\(name): the server has lost changes") }
      outcome.changes = changes
      let stopped = ContinuousClock.now
      do {
        try await client.wait { LiveCounts.observed.allSatisfy { client.counts[$0] == counts[$0] } }
        try await client.wait {
          let start = client.lines.count
          try client.tell("f")
          _ = try await client.line(behind: start) { $0 == "fetched" ? $0 : nil }
          return LiveCounts.unobserved.allSatisfy { client.counts[$0] == counts[$0] }
        }
        outcome.slowest = max(outcome.slowest, stopped.duration(to: .now))
      } catch let silent as LiveProcess.Silent {
        outcome.faults.append("\(name): the server has \(counts), the client \(silent)")
      }
    }

    private mutating func pause(_ milliseconds: ClosedRange<Int>) async throws {
      try await Task.sleep(for: .milliseconds(Int.random(in: milliseconds, using: &generator)))
    }

    private mutating func newServer() async throws -> LiveProcess {
      started += 1
      let server = try LiveProcess(["live-server", path("server"), "\(port)", "\(seed &+ started)"])
      port = try await server.line { Int($0) }
      return server
    }

    private func newClient() throws -> LiveProcess {
      try LiveProcess(["live-client", "http://127.0.0.1:\(port)", path("client")])
    }

    private func path(_ name: String) throws -> String {
      let directory = directory.appending(path: name)
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      return directory.path(percentEncoded: false)
    }

    private mutating func end(_ process: LiveProcess) {
      process.kill()
      outcome.resumed += process.lines.count { $0 == "resumed" }
      outcome.gaps += process.lines.count { $0 == "gap" }
      outcome.faults += process.lines.filter { $0.hasPrefix("older ") || $0.hasPrefix("the counts") }
    }
  }
#endif
