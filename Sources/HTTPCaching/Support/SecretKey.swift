import Synchronization

/// The key under which a store digests the secrets in its records' URLs (HMAC-SHA-256, RFC 2104).
///
/// Its text, its dump and its mirror do not show the bytes.
public struct SecretKey: Sendable, Hashable {
  /// The length of every key.
  public static let byteCount = 32
  /// The key of what has no store: random, and gone with the process.
  static let ofProcess = SecretKey()

  /// The ``byteCount`` bytes. Store them where only the store's owner can read them.
  public let bytes: [UInt8]

  /// Makes a key of the system's random bytes.
  public init() {
    var random = SystemRandomNumberGenerator()
    bytes = (0..<Self.byteCount).map { _ in random.next() }
  }

  /// Returns `nil` unless there are ``byteCount`` bytes.
  public init?(bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
    guard self.bytes.count == Self.byteCount else { return nil }
  }
}

extension SecretKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "SecretKey(…)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Digests the secrets of one store's keys and records, under the store's ``SecretKey``.
///
/// Equal secrets of one store have equal digests, so two requests stay apart and one finds its
/// record again. Without the key, nobody can look up a short password by its digest.
package final class SecretDigests: Sendable {
  /// The beginning of a digest's text; 64 lower-case hexadecimal digits follow.
  static let prefix = "hmac-"
  /// The digests where there is no store.
  package static let ofProcess = SecretDigests(of: nil)

  private let persistence: (any Persistence)?
  /// `nil` before the first secret.
  private let key: Mutex<SecretKey?>

  /// - Parameter persistence: asked for its key when the first secret comes. Where it has none, the
  ///   process's is used.
  package init(of persistence: (any Persistence)?) {
    self.persistence = persistence
    key = Mutex(nil)
  }

  package init(_ key: SecretKey) {
    persistence = nil
    self.key = Mutex(key)
  }

  package func digest(_ secret: [UInt8]) -> [UInt8] {
    Array((Self.prefix + HMAC.hex(secret, key: storeKey().bytes)).utf8)
  }

  private func storeKey() -> SecretKey {
    if let key = key.withLock(\.self) { return key }
    // Not under the lock, since the store is anybody's code. Of two answers at once the first counts.
    let answer = persistence?.secretKey() ?? .ofProcess
    return key.withLock { key in
      let first = key ?? answer
      key = first
      return first
    }
  }
}
