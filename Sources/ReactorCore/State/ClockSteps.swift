import Foundation
import Synchronization

/// Detects that the wall clock was set back, so that no copy in memory stays fresh for longer.
///
/// The lead of the wall clock over the monotonic clock is constant until the wall clock is set.
/// Each copy records the lead at its beginning (``CachedModel/lead``). If the current lead is
/// smaller, the wall clock was set back by the difference, and the copy is older by as much.
///
/// The monotonic clock is read only if the wall clock has moved by a millisecond since the last
/// reading, so that a hit need not read two clocks.
final class ClockSteps: Sendable {
  private let wall: @Sendable () -> Date
  private let elapsed: @Sendable () -> Duration
  private let looks: @Sendable () -> Void
  /// The wall clock's seconds at the last reading of both clocks, as bits.
  private let looked: Atomic<UInt64>
  /// The lead at that reading, as bits.
  private let seen: Atomic<UInt64>
  /// The change of the wall clock, in seconds, after which the monotonic clock is read again.
  private static let interval = 0.001
  /// The decrease of the lead, in seconds, that is ignored. The two clocks are not read at the same
  /// instant, and the system may adjust the wall clock in small steps.
  private static let tolerance = 0.01

  /// - Parameter looks: a closure that is called after each reading of both clocks. It may call
  ///   ``now()``.
  init(
    wall: @escaping @Sendable () -> Date, elapsed: @escaping @Sendable () -> Duration,
    looks: @escaping @Sendable () -> Void
  ) {
    (self.wall, self.elapsed, self.looks) = (wall, elapsed, looks)
    looked = Atomic(Double.infinity.bitPattern)
    seen = Atomic(0)
    _ = now()
  }

  /// Returns the wall clock's time. Call it without a lock: both clocks are user code.
  @inline(__always)
  func now() -> Date {
    let date = wall()
    let seconds = date.timeIntervalSinceReferenceDate
    let last = Double(bitPattern: looked.load(ordering: .relaxed))
    if !(abs(seconds - last) < Self.interval) { look(at: seconds) }
    return date
  }

  /// The seconds by which the wall clock was ahead of the monotonic clock at the last reading by
  /// ``now()``.
  var lead: Double { Double(bitPattern: seen.load(ordering: .relaxed)) }

  /// Returns the seconds by which the wall clock was set back since its lead was `lead`.
  @inline(__always)
  func setBack(since lead: Double) -> Double {
    let lost = lead - self.lead
    return lost > Self.tolerance ? lost : 0
  }

  @inline(never)
  private func look(at seconds: Double) {
    let lead = seconds - elapsed().inSeconds
    seen.store(lead.bitPattern, ordering: .relaxed)
    looked.store(seconds.bitPattern, ordering: .relaxed)
    looks()
  }
}
