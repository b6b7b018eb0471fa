// The sessions that wait for their next call: one set of them for all decoders of the process.

import Foundation
import Synchronization

/// A few idle sessions that any decoder can take.
///
/// A call takes the first session that it finds, and puts it back if there is room, so that later
/// sessions are used only by concurrent calls. No call waits: if no session is free, it creates
/// one, and if the pool is full, the session is released.
///
/// Atomics and no `Mutex`: Thread Sanitizer sees on Linux what these order.
///
/// A session is put here only where `isKnownUniquelyReferenced` says that no container, no decoder
/// and no call has it, and is taken out by one call, which exchanges its address for 0. So no two
/// threads have it at once, though the compiler cannot follow that through the models' code.
final class SessionPool: @unchecked Sendable {
  static let shared = SessionPool(capacity: min(max(ProcessInfo.processInfo.activeProcessorCount, 2), 8))

  let kept = KeptSessions()
  /// Addresses of sessions, each of which counts as one reference; 0: free.
  private let slots: UnsafeMutablePointer<Atomic<UInt>>
  private let capacity: Int
  /// Bytes of the buffers of all that wait.
  private let size = Atomic<Int>(0)

  /// Bytes of buffers with which a session is not put here.
  static let maximumSessionSize = 4 << 20
  static let maximumSize = 8 << 20

  init(capacity: Int) {
    self.capacity = capacity
    slots = .allocate(capacity: capacity)
    for number in 0..<capacity { (slots + number).initialize(to: Atomic(0)) }
  }

  deinit {
    for number in 0..<capacity { _ = take(slots + number) }
    slots.deinitialize(count: capacity)
    slots.deallocate()
  }

  /// The number of idle sessions, and the bytes of their buffers.
  var contents: (count: Int, size: Int) {
    ((0..<capacity).count { slots[$0].load(ordering: .relaxed) != 0 }, size.load(ordering: .relaxed))
  }

  /// A session for one call, which no other has.
  func take() -> Session {
    kept.sweep()
    for number in 0..<capacity {
      if let session = take(slots + number) { return session }
    }
    return Session()
  }

  private func take(_ slot: UnsafeMutablePointer<Atomic<UInt>>) -> Session? {
    guard slot.pointee.load(ordering: .relaxed) != 0,
      let pointer = UnsafeRawPointer(bitPattern: slot.pointee.exchange(0, ordering: .acquiring))
    else { return nil }
    let session = Unmanaged<Session>.fromOpaque(pointer).takeRetainedValue()
    size.wrappingSubtract(session.restingSize, ordering: .relaxed)
    return session
  }

  /// Ends a call.
  ///
  /// - Parameter session: The only reference, except for references that a model has kept.
  func giveBack(_ session: inout Session) {
    guard session.core.pointee.pool.isIdle() else {
      session.end()
      return kept.add(session)
    }
    guard isKnownUniquelyReferenced(&session) else { return session.end() }
    session.rest()
    guard session.restingSize <= Self.maximumSessionSize else { return }
    let total = size.wrappingAdd(session.restingSize, ordering: .relaxed).newValue
    if total > Self.maximumSize { makeRoom() }
    let address = UInt(bitPattern: Unmanaged.passRetained(session).toOpaque())
    for number in 0..<capacity where slots[number].load(ordering: .relaxed) == 0 {
      let isPut = slots[number].compareExchange(expected: 0, desired: address, ordering: .releasing).exchanged
      if isPut { return }
    }
    size.wrappingSubtract(session.restingSize, ordering: .relaxed)
    Unmanaged.passUnretained(session).release()
  }

  /// Ends idle sessions, the least used first, until the rest fits.
  private func makeRoom() {
    for number in (0..<capacity).reversed() where size.load(ordering: .relaxed) > Self.maximumSize {
      _ = take(slots + number)
    }
  }
}
