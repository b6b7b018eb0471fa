// The sessions of which a model keeps a container beyond its decoding.

import Synchronization

/// Keeps each session until no model has a container of it.
///
/// Each call checks a few sessions in turn, and releases the finished ones. A call adds at most
/// one, so finished sessions are never more than a fraction of the sessions in use. No call waits:
/// if another call is checking, it continues without.
///
/// Atomics and no `Mutex`: Thread Sanitizer sees on Linux what these order.
///
/// A session that is over is only read, but for its pool's list of boxes. That is written by who
/// has `isLocked`, and `Unmanaged` crosses threads as an address: the list and the array hold the
/// only references that are counted here.
final class KeptSessions: @unchecked Sendable {
  /// The address of the session that was added last, which has the address of the one before; 0 for
  /// none.
  private let added = Atomic<UInt>(0)
  /// The number of kept sessions, so that a call sees at once that the pool is empty.
  private let number = Atomic<Int>(0)
  private let isLocked = Atomic<Bool>(false)
  /// Behind `isLocked`.
  private var sessions: [Session] = []
  /// The index of the session to check next; behind `isLocked`.
  private var next = 0

  var count: Int { number.load(ordering: .relaxed) }

  deinit { takeAdded() }

  /// - Parameter session: A session that is over, and that the caller no longer uses.
  func add(_ session: Session) {
    let address = UInt(bitPattern: Unmanaged.passRetained(session).toOpaque())
    var last = added.load(ordering: .relaxed)
    while true {
      session.addedBefore = last
      let (isAdded, other) = added.weakCompareExchange(
        expected: last, desired: address, successOrdering: .releasing, failureOrdering: .relaxed)
      if isAdded { break }
      last = other
    }
    number.wrappingAdd(1, ordering: .relaxed)
  }

  /// Looks at so many sessions.
  @inline(__always) func sweep(_ limit: Int = 4) {
    if count > 0 { look(at: limit) }
  }

  @inline(never) private func look(at limit: Int) {
    guard !isLocked.exchange(true, ordering: .acquiring) else { return }
    takeAdded()
    let ended = takeEnded(limit)
    isLocked.store(false, ordering: .releasing)
    // They are released here, not before: releasing their `userInfo` may run any user code.
    number.wrappingSubtract(ended.count, ordering: .relaxed)
  }

  private func takeAdded() {
    var address = added.exchange(0, ordering: .acquiring)
    while let pointer = UnsafeRawPointer(bitPattern: address) {
      let session = Unmanaged<Session>.fromOpaque(pointer).takeRetainedValue()
      sessions.append(session)
      address = session.addedBefore
    }
  }

  private func takeEnded(_ limit: Int) -> [Session] {
    var ended: [Session] = []
    for _ in 0..<min(limit, sessions.count) {
      if next >= sessions.count { next = 0 }
      if sessions[next].core.pointee.pool.isIdle() {
        sessions.swapAt(next, sessions.count - 1)
        ended.append(sessions.removeLast())
      } else {
        next += 1
      }
    }
    return ended
  }
}
