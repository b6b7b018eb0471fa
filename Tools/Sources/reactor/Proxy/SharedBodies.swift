import Foundation
import NIOCore
import Synchronization

/// A body in pieces, which all clients that get it share.
final class SharedBody: Sendable {
  /// The most bytes of a piece.
  static let pieceSize = 64 << 10

  let pieces: [ByteBuffer]
  let count: Int
  private let held: HeldBytes
  private let end: (@Sendable (ObjectIdentifier) -> Void)?

  fileprivate init(
    _ data: Data, _ held: HeldBytes = HeldBytes(), end: (@Sendable (ObjectIdentifier) -> Void)? = nil
  ) {
    pieces = stride(from: 0, to: data.count, by: Self.pieceSize).map { start in
      ByteBuffer(bytes: data.dropFirst(start).prefix(Self.pieceSize))
    }
    count = data.count
    self.held = held
    self.end = end
  }

  deinit { end?(ObjectIdentifier(self)) }

  fileprivate func hasBytes(of data: Data) -> Bool {
    guard count == data.count else { return false }
    return data.withUnsafeBytes { data in
      var start = 0
      return pieces.allSatisfy { piece in
        piece.withUnsafeReadableBytes { bytes in
          guard let own = bytes.baseAddress, let other = data.baseAddress else { return bytes.isEmpty }
          defer { start += bytes.count }
          return memcmp(own, other + start, bytes.count) == 0
        }
      }
    }
  }
}

/// The bodies that are on their way to clients.
///
/// Clients that are sent the same large body at one time share its bytes, so that a client that
/// does not read costs no more than its connection. The sum of different bodies has a limit.
final class SharedBodies: Sendable {
  /// Finds a body without reading all of it. Bodies that look alike are compared.
  private struct Look: Hashable {
    let count: Int
    let sample: Int

    init(_ data: Data) {
      var hasher = Hasher()
      for start in [0, data.count / 2, max(0, data.count - 64)] { hasher.combine(data.dropFirst(start).prefix(64)) }
      (count, sample) = (data.count, hasher.finalize())
    }
  }

  private final class Entry: Sendable {
    let identifier: ObjectIdentifier
    weak let body: SharedBody?

    init(_ body: SharedBody) { (identifier, self.body) = (ObjectIdentifier(body), body) }
  }

  let memory: BodyMemory
  private let entries = Mutex<[Look: Entry]>([:])

  init(_ memory: BodyMemory) { self.memory = memory }

  /// The number of different large bodies on their way.
  var count: Int { entries.withLock(\.count) }

  /// Returns the body in pieces.
  ///
  /// - Parameters:
  ///   - data: The body.
  ///   - held: The bytes that are counted for it already; `nil` to count it here.
  /// - Returns: The body, or `nil` if there is no room for it.
  func body(_ data: Data, held: HeldBytes?) -> SharedBody? {
    guard data.count > BodyMemory.uncounted else { return SharedBody(data) }
    let look = Look(data)
    // Compared and released without the lock, since its `deinit` takes the lock.
    if let found = entries.withLock({ $0[look]?.body }), found.hasBytes(of: data) { return found }
    var held = held ?? HeldBytes()
    guard held.count >= data.count || held.grow(by: data.count - held.count, in: memory) else { return nil }
    let body = SharedBody(data, held) { [self] in forget(look, $0) }
    entries.withLock { $0[look] = Entry(body) }
    return body
  }

  private func forget(_ look: Look, _ identifier: ObjectIdentifier) {
    entries.withLock { if $0[look]?.identifier == identifier { $0[look] = nil } }
  }
}
