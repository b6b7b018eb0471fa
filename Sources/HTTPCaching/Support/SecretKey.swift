import Synchronization

extension RecordKey {
  /// The key under which a store digests the secrets in its records' URLs (HMAC-SHA-256, RFC 2104).
  ///
  /// Its description, dump and mirror do not show the bytes.
  public struct SecretKey: Sendable, Hashable {
    /// The length of every key, in bytes.
    public static let byteCount = 32
    /// The random key of this process, for URLs without a store.
    static let ofProcess = RecordKey.SecretKey()

    /// The ``byteCount`` bytes of the key. Store them where only the store's owner can read them.
    public let bytes: [UInt8]

    /// Creates a key from the system's random bytes.
    public init() {
      var random = SystemRandomNumberGenerator()
      bytes = (0..<Self.byteCount).map { _ in random.next() }
    }

    /// Creates a key from stored bytes, or returns `nil` unless there are exactly ``byteCount``.
    public init?(bytes: some Sequence<UInt8>) {
      self.bytes = Array(bytes)
      guard self.bytes.count == Self.byteCount else { return nil }
    }
  }
}

extension RecordKey.SecretKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "SecretKey(…)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Digests the secrets of one store's keys and records under the store's ``RecordKey/SecretKey``.
///
/// Equal secrets of one store have equal digests. So a request finds its record again, and requests
/// with different secrets never share one. Without the key, an attacker cannot find a short
/// password from its digest.
package final class SecretDigests: Sendable {
  /// The prefix of a digest's text. 64 lower-case hexadecimal digits follow.
  static let prefix = "hmac-"
  /// The digests under the random key of this process.
  package static let ofProcess = SecretDigests(of: nil)

  private let persistence: (any Persistence)?
  /// The key; `nil` before the first secret.
  private let key: Mutex<RecordKey.SecretKey?>

  /// Creates the digests of a store.
  ///
  /// - Parameter persistence: The store, whose key is read at the first secret. Without a store or
  ///   a key, the random key of this process is used.
  package init(of persistence: (any Persistence)?) {
    self.persistence = persistence
    key = Mutex(nil)
  }

  /// Creates the digests under a given key.
  package init(_ key: RecordKey.SecretKey) {
    persistence = nil
    self.key = Mutex(key)
  }

  /// Returns the text of a secret's digest: the prefix, then 64 hexadecimal digits.
  package func digest(_ secret: [UInt8]) -> [UInt8] {
    Array((Self.prefix + HMAC.hex(secret, key: storeKey().bytes)).utf8)
  }

  private func storeKey() -> RecordKey.SecretKey {
    if let key = key.withLock(\.self) { return key }
    // Not under the lock, because a custom store's code runs here. Of two concurrent answers, the
    // first is kept.
    let answer = persistence?.secretKey() ?? .ofProcess
    return key.withLock { key in
      let first = key ?? answer
      key = first
      return first
    }
  }
}
