import Foundation

/// The clock or counter that measures a turn.
enum Stopwatch: String, Codable, Sendable {
  /// The time that this process, all threads together, had a processor. For jobs that never wait:
  /// on a busy machine, this is the time that would have elapsed without other programs.
  case processor
  /// For what waits, or is done by several at once.
  case elapsed

  /// Nanoseconds since some time.
  var now: Double {
    var time = timespec()
    clock_gettime(self == .processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }
}
