import Foundation

#if canImport(CryptoKit)
  import CryptoKit
#endif

/// SHA-256 (FIPS 180-4). CryptoKit's where there is one; elsewhere ``PortableSHA256``, since swift-crypto would cost
/// every user half a minute of build.
struct SHA256Digest {
  #if canImport(CryptoKit)
    private var hash = CryptoKit.SHA256()
    mutating func update(_ bytes: some DataProtocol) { hash.update(data: bytes) }
    mutating func bytes() -> [UInt8] { Array(hash.finalize()) }
  #else
    private var hash = PortableSHA256()
    mutating func update(_ bytes: some DataProtocol) { hash.update(bytes) }
    mutating func bytes() -> [UInt8] { hash.finalize() }
  #endif

  mutating func hex() -> String { Hex.encode(bytes()) }

  /// Adds the length and then the bytes, so that no two lists of strings give the same input.
  mutating func update(framed string: String) {
    update(Array("\(string.utf8.count):".utf8))
    update(Array(string.utf8))
  }

  /// The digest of `bytes`, in 32 bytes.
  static func bytes(_ bytes: some DataProtocol) -> [UInt8] {
    var hash = SHA256Digest()
    hash.update(bytes)
    return hash.bytes()
  }

  /// The digest of `bytes`, in 64 lower-case hexadecimal digits.
  static func hex(_ bytes: some DataProtocol) -> String {
    var hash = SHA256Digest()
    hash.update(bytes)
    return hash.hex()
  }
}

/// Lower-case hexadecimal.
enum Hex {
  private static let digits = Array("0123456789abcdef".utf8)

  static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var out: [UInt8] = []
    out.reserveCapacity(2 * bytes.underestimatedCount)
    for byte in bytes {
      out.append(digits[Int(byte >> 4)])
      out.append(digits[Int(byte & 15)])
    }
    return String(decoding: out, as: UTF8.self)
  }
}
