#if os(macOS) || os(Linux)
  public import ReactorCore
  import ReactorTesting

  /// Kills writers of one store, one after the other, and looks at the store after each.
  public struct KillTrial {
    public var engine: WriterEngine
    public var path: String
    public var seed: UInt64

    public init(_ engine: WriterEngine, path: String, seed: UInt64) {
      self.engine = engine
      self.path = path
      self.seed = seed
    }

    public struct Outcome: Sendable {
      public var kills = 0
      public var acknowledged = 0
      /// States that an acknowledged save should have excluded.
      public var faults: [String] = []
    }

    /// - Parameter open: opens the store as the next start of a program would.
    public func run(kills: Int, open: () throws -> any Persistence) async throws -> Outcome {
      var generator = SeededGenerator(seed: seed)
      var outcome = Outcome()
      var view = StoreView()
      var writer = try writer(0)
      for run in 0..<kills {
        // Mostly soon, the opening included; at times late enough for a database to be
        // checkpointed.
        let longest = Int.random(in: 0..<24, using: &generator) == 0 ? 400 : 30
        let killed = try writer.kill(after: Int.random(in: 1...longest, using: &generator))
        if run + 1 < kills { writer = try self.writer(run + 1) }
        outcome.kills += 1
        outcome.acknowledged += killed.count
        view.note(killed.acknowledged)
        if !killed.complaint.isEmpty { outcome.faults.append("kill \(run): the writer said \(killed.complaint)") }
        outcome.faults += try await view.faults(of: open()).map { "kill \(run): \($0)" }
      }
      return outcome
    }

    private func writer(_ run: Int) throws -> KilledWriter {
      try KilledWriter(engine, path: path, seed: seed &+ UInt64(run) &* 8, run: run)
    }
  }
#endif
