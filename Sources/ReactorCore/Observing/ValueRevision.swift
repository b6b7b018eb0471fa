import Synchronization

/// Numbers for values that load states show: growing, and each given once in the process. So a value can be told from another
/// also where the states of one sequence follow those of another.
enum ValueRevision {
  private static let latest = Atomic<UInt64>(0)

  static func next() -> UInt64 { latest.add(1, ordering: .relaxed).newValue }
}
