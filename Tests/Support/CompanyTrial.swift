#if os(macOS) || os(Linux)
  public import ReactorCore

  /// Several processes write to one store at once, each its own keys, while this one reads it: the first of them is
  /// killed again and again, the others go on.
  public struct CompanyTrial: Sendable {
    public static let writerCount = 3
    public var engine: WriterEngine
    public var path: String
    public var seed: UInt64

    public init(_ engine: WriterEngine, path: String, seed: UInt64) {
      self.engine = engine
      self.path = path
      self.seed = seed
    }

    public struct Outcome: Sendable {
      /// How many saves each writer said were stored.
      public var acknowledged = Array(repeating: 0, count: CompanyTrial.writerCount)
      /// How often the whole store was read meanwhile.
      public var looks = 0
      /// What an acknowledged save, or one that was seen, should have excluded.
      public var faults: [String] = []
    }

    /// - Parameter open: opens the store as another process would.
    public func run(kills: Int, open: @Sendable () throws -> any Persistence) async throws -> Outcome {
      let store = try open()
      let others = try (1..<Self.writerCount).map { try writer($0, run: 0) }
      var (outcome, view) = (Outcome(), StoreView())
      try await withThrowingTaskGroup(of: (part: Int, KilledWriter.Run).self) { group in
        // The group waits for what they say.
        defer { for other in others { other.kill() } }
        for (part, other) in zip(1..., others) { group.addTask { (part, try await other.killed(after: .max)) } }
        let looks = try await watching(store) {
          for run in try await killedRuns(kills) {
            view.note(run.acknowledged)
            outcome.note(run, of: 0)
          }
        }
        outcome.looks = looks.count
        outcome.faults += looks.faults.map { "while all write: \($0)" }
        for other in others { other.kill() }
        for try await (part, run) in group {
          view.note(run.acknowledged)
          outcome.note(run, of: part)
        }
      }
      outcome.faults += await view.faults(of: store).map { "at the end: \($0)" }
      outcome.faults += try await view.faults(of: open()).map { "at the end, opened anew: \($0)" }
      return outcome
    }

    private func writer(_ part: Int, run: Int) throws -> KilledWriter {
      try KilledWriter(
        engine, path: path, seed: seed &+ UInt64(run) &* 16, run: run, part: part, of: Self.writerCount)
    }

    /// One writer after the other, of the first share.
    private func killedRuns(_ kills: Int) async throws -> [KilledWriter.Run] {
      var generator = SeededGenerator(seed: seed)
      var runs: [KilledWriter.Run] = []
      for run in 0..<kills {
        runs.append(try await writer(0, run: run).killed(after: Int.random(in: 1...60, using: &generator)))
      }
      return runs
    }

    /// Reads the whole store again and again while `body` runs.
    private func watching(
      _ store: any Persistence, while body: () async throws -> Void
    ) async throws -> (count: Int, faults: [String]) {
      try await withThrowingTaskGroup(of: (count: Int, faults: [String]).self) { group in
        group.addTask {
          var view = StoreView()
          var looks = (count: 0, faults: [String]())
          while !Task.isCancelled {
            looks.faults += await view.faults(of: store)
            looks.count += 1
          }
          return looks
        }
        try await body()
        group.cancelAll()
        return try await group.next() ?? (0, [])
      }
    }
  }

  extension CompanyTrial.Outcome {
    fileprivate mutating func note(_ run: KilledWriter.Run, of part: Int) {
      acknowledged[part] += run.count
      if !run.complaint.isEmpty { faults.append("writer \(part): \(run.complaint)") }
    }
  }
#endif
