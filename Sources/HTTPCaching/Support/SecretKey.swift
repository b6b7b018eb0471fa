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
