#if os(macOS) || os(Linux)
  public import ReactorCore
  import ReactorTesting

  /// Several processes write to one store at once, each its own keys, while this one reads it all:
  /// the first of them is killed again and again, the others continue.
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
      /// The number of saves that each writer acknowledged.
      public var acknowledged = Array(repeating: 0, count: CompanyTrial.writerCount)
      /// States that an acknowledged or observed save should have excluded.
      public var faults: [String] = []
    }

    /// - Parameter open: opens the store as another process would.
    public func run(kills: Int, open: @Sendable () throws -> any Persistence) async throws -> Outcome {
      let store = try open()
      let others = try (1..<Self.writerCount).map { try writer($0, run: 0) }
      var (outcome, view, generator) = (Outcome(), StoreView(), SeededGenerator(seed: seed))
      try await withThrowingTaskGroup(of: (part: Int, KilledWriter.Run).self) { group in
        // The group waits for what they say.
        defer { for other in others { other.kill() } }
        for (part, other) in zip(1..., others) { group.addTask { (part, try await other.killed(after: .max)) } }
        for run in 0..<kills {
          let killed = try await killedRun(run, &generator) {
            outcome.faults += await view.faults(of: store).map { "while all write: \($0)" }
          }
          view.note(killed.acknowledged)
          outcome.note(killed, of: 0)
          outcome.faults += await view.faults(of: store).map { "after kill \(run): \($0)" }
        }
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

    /// A writer of the first share; `body` runs meanwhile.
    private func killedRun(
      _ run: Int, _ generator: inout SeededGenerator, meanwhile body: () async -> Void
    ) async throws -> KilledWriter.Run {
      let writer = try writer(0, run: run)
      let count = Int.random(in: 1...60, using: &generator)
      async let killed = writer.killed(after: count)
      await body()
      return try await killed
    }
  }

  extension CompanyTrial.Outcome {
    fileprivate mutating func note(_ run: KilledWriter.Run, of part: Int) {
      acknowledged[part] += run.count
      if !run.complaint.isEmpty { faults.append("writer \(part): \(run.complaint)") }
    }
  }
#endif
