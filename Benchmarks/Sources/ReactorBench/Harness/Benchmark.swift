/// One job of the table, in its own file.
protocol Benchmark: SendableMetatype {
  /// As in `--filter`.
  static var name: String { get }
  /// The question that the benchmark answers, in one line.
  static var question: String { get }
  static func measure(_ bench: Bench) async throws
  /// Measures how its cost grows with its natural size.
  static func grow(_ growth: Growth) async throws
}

extension Benchmark {
  static func grow(_ growth: Growth) async throws {}
}

let benchmarks: [any Benchmark.Type] = [
  MemoryHit.self,
  QueryHit.self,
  EquivalentMiss.self,
  CachedRead.self,
  ParallelMemoryHit.self,
  DiskHit.self,
  ParsedDiskHit.self,
  SealedDiskHit.self,
  Save.self,
  Submit.self,
  NetworkFetch.self,
  Revalidation.self,
  Coalescing.self,
  FleetHit.self,
  Instrumented.self,
  FanOut.self,
  Observers.self,
  Entities.self,
  ListMemory.self,
  ColdStart.self,
  MemoryFootprint.self,
  Events.self,
  Decoding.self,
  Parsing.self,
  EventStreams.self,
  Live.self,
  FluxDispatch.self,
  Rivals.self,
]
