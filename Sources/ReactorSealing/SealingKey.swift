import Foundation
import HTTPCaching

/// A key of 256 bits, from which ``Sealing`` derives the keys that it uses.
///
/// ```swift
/// let key = SealingKey()
/// print(key.base64)  // for the environment of a server
/// ```
///
/// No description of it has its bytes.
public struct SealingKey: Sendable, Hashable, Identifiable {
  /// The length of every key, in bytes.
  public static let byteCount = 32

  /// The ``byteCount`` bytes. Store them where only the owner of the sealed data can read them.
  public let bytes: [UInt8]
  /// The name of the key, which sealed data has in the clear. The bytes determine the name, so
  /// a wrong key has another one.
  public let id: ID

  /// Creates a key from the system's random bytes.
  public init() {
    var random = SystemRandomNumberGenerator()
    self.init(checked: (0..<Self.byteCount).map { _ in random.next() })
  }

  /// Creates a key from stored bytes, or returns `nil` unless there are exactly ``byteCount``.
  public init?(bytes: some Sequence<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count == Self.byteCount else { return nil }
    self.init(checked: bytes)
  }

  /// Creates a key from its ``base64``, or returns `nil` for any other text.
  public init?(base64: String) {
    guard let bytes = Data(base64Encoded: base64) else { return nil }
    self.init(bytes: bytes)
  }

  /// Creates the key that is an HMAC-SHA256 of a message under this key.
  func derived(_ message: [UInt8]) -> SealingKey { SealingKey(checked: Self.code(of: message, bytes)) }

  /// Returns the HMAC-SHA256 (RFC 2104) of a message under a key of half a block. The module needs
  /// it without swift-crypto, too.
  private static func code(of message: [UInt8], _ key: [UInt8]) -> [UInt8] {
    let key = key + [UInt8](repeating: 0, count: byteCount)
    return digest(key.map { $0 ^ 0x5C } + digest(key.map { $0 ^ 0x36 } + message))
  }

  private static func digest(_ bytes: [UInt8]) -> [UInt8] {
    var digits = SHA256Digest.hex(bytes)[...]
    return (0..<byteCount).map { _ in
      defer { digits = digits.dropFirst(2) }
      return UInt8(digits.prefix(2), radix: 16) ?? 0
    }
  }

  private init(checked bytes: [UInt8]) {
    self.bytes = bytes
    id = ID(
      number: Self.code(of: Array("reactor-sealing/1 id".utf8), bytes).prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
  }

  /// The bytes in Base64 (RFC 4648 §4).
  public var base64: String { Data(bytes).base64EncodedString() }

  /// The name of a key: the first 64 bits of an HMAC under it.
  public struct ID: Sendable, Hashable, CustomStringConvertible {
    let number: UInt64

    /// Sixteen lower-case hexadecimal digits.
    public var description: String {
      let digits = String(number, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
  }
}

extension SealingKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The ``id``.
  public var description: String { "SealingKey(\(id))" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
