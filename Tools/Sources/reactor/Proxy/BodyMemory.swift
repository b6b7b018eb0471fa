import NIOCore
import Synchronization

/// The memory that bodies take on their way through the proxy, and its limit.
final class BodyMemory: Sendable {
  /// The bytes that each body may have without being counted. As many small bodies as there are
  /// connections are little.
  static let uncounted = 64 << 10

  /// The most bytes that are counted at once.
  let limit: Int
  private let taken = Mutex(0)

  init(limit: Int) { self.limit = limit }

  /// The bytes that are counted now.
  var count: Int { taken.withLock(\.self) }

  fileprivate func take(_ bytes: Int) -> Bool {
    taken.withLock { taken in
      guard bytes <= limit - taken else { return false }
      taken += bytes
      return true
    }
  }

  fileprivate func giveBack(_ bytes: Int) { taken.withLock { $0 -= bytes } }
}

/// The bytes of one body that are counted in a ``BodyMemory``.
///
/// A copy counts the same bytes. They are counted until the last copy is gone, however that ends.
struct HeldBytes: Sendable {
  private final class Lease: Sendable {
    private let memory: BodyMemory
    private let bytes = Mutex(0)

    init(_ memory: BodyMemory) { self.memory = memory }

    deinit { memory.giveBack(bytes.withLock(\.self)) }

    func grow(by more: Int) -> Bool {
      guard memory.take(more) else { return false }
      bytes.withLock { $0 += more }
      return true
    }
  }

  private(set) var count = 0
  private var lease: Lease?

  /// Counts more bytes of the body.
  ///
  /// - Returns: `false` if the memory has no room for them. Nothing has changed then.
  mutating func grow(by bytes: Int, in memory: BodyMemory) -> Bool {
    let whole = count + bytes
    guard whole > BodyMemory.uncounted else {
      count = whole
      return true
    }
    let lease = self.lease ?? Lease(memory)
    guard lease.grow(by: self.lease == nil ? whole : bytes) else { return false }
    (count, self.lease) = (whole, lease)
    return true
  }
}
