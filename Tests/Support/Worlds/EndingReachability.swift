import ReactorConformance
import ReactorCore
import ReactorTesting

/// Connectivity whose changes end after the first, like those of a program's own switch. Nothing
/// reports that the network is back.
struct EndingReachability: Reachability {
  let base: ScriptedReachability

  var isReachable: Bool { base.isReachable }

  var changes: AsyncStream<Bool> {
    AsyncStream { continuation in
      continuation.yield(base.isReachable)
      continuation.finish()
    }
  }
}

extension SimulatedWorld {
  /// The world's connectivity, whose changes end in some worlds.
  func reachability(ends: Bool) -> any Reachability { ends ? EndingReachability(base: reachability) : reachability }

  /// Choices that are drawn apart, so that words that were added later do not shift those of the
  /// world's other choices.
  var laterDraws: SeededDraws { SeededDraws(seed: ~seed &* 31) }
}
