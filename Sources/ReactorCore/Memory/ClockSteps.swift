import Foundation
import Synchronization

/// Sees when the wall clock was set back, so that no copy in memory lives longer for it.
///
/// The wall clock's lead over the monotonic one stays the same until somebody sets the wall clock. A
/// copy has the lead of its beginning (``CachedModel/lead``): where the present lead is less, the copy is older
/// by as much than the wall clock says. The monotonic clock is read only when the wall clock shows
/// another millisecond than at the last look, so that a hit need not read two clocks.
final class ClockSteps: Sendable {
  private let wall: @Sendable () -> Date
  private let elapsed: @Sendable () -> Duration
  /// Bits of the wall clock's seconds at the last look, and of the lead.
  private let looked: Atomic<UInt64>
  private let seen: Atomic<UInt64>
  /// In seconds.
  private static let interval = 0.001
  /// In seconds: the two clocks are not read at the same moment, and one may be set a little at a time.
  private static let tolerance = 0.01

  init(wall: @escaping @Sendable () -> Date, elapsed: @escaping @Sendable () -> Duration) {
    self.wall = wall
    self.elapsed = elapsed
    looked = Atomic(Double.infinity.bitPattern)
    seen = Atomic(0)
    _ = now()
  }

  /// The wall clock's time. To be called under no lock, since both clocks are their user's.
  @inline(__always)
  func now() -> Date {
    let date = wall()
    let seconds = date.timeIntervalSinceReferenceDate
    let last = Double(bitPattern: looked.load(ordering: .relaxed))
    if !(abs(seconds - last) < Self.interval) { look(at: seconds) }
    return date
  }

  /// Seconds by which the wall clock was ahead of the monotonic one when ``now()`` was called last.
  var lead: Double { Double(bitPattern: seen.load(ordering: .relaxed)) }

  /// Seconds by which the wall clock was set back since its lead was `lead`.
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
  }
}
