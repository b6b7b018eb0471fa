/// HMAC-SHA-256 (RFC 2104, FIPS 198-1). Checked against RFC 4231's vectors.
enum HMAC {
  private static let blockSize = 64

  /// Returns the code of `message`, in 64 lower-case hexadecimal digits.
  static func hex(_ message: [UInt8], key: [UInt8]) -> String {
    var key = key.count > blockSize ? SHA256Digest.bytes(key) : key
    key += repeatElement(0, count: blockSize - key.count)
    let inner = SHA256Digest.bytes(key.map { $0 ^ 0x36 } + message)
    return SHA256Digest.hex(key.map { $0 ^ 0x5C } + inner)
  }
}
