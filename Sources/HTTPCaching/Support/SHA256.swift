package import Foundation

#if canImport(CryptoKit)
  import CryptoKit
#endif

/// SHA-256 (FIPS 180-4), from CryptoKit where the platform has it, otherwise ``PortableSHA256``. A
/// dependency on swift-crypto would cost every user half a minute of build time.
package struct SHA256Digest {
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

  /// Adds the length of the string and then its bytes. So different lists of strings never have the
  /// same input.
  mutating func update(framed string: String) {
    update(Array("\(string.utf8.count):".utf8))
    update(Array(string.utf8))
  }

  /// Returns the digest of `bytes`, in 32 bytes.
  static func bytes(_ bytes: some DataProtocol) -> [UInt8] {
    var hash = SHA256Digest()
    hash.update(bytes)
    return hash.bytes()
  }

  /// Returns the digest of `bytes`, in 64 lower-case hexadecimal digits.
  package static func hex(_ bytes: some DataProtocol) -> String {
    var hash = SHA256Digest()
    hash.update(bytes)
    return hash.hex()
  }
}

/// Lower-case hexadecimal digits.
enum Hex {
  private static let digits = Array("0123456789abcdef".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
      digits.withUnsafeBufferPointer { digits in
        for (index, byte) in bytes.enumerated() {
          text.initializeElement(at: 2 * index, to: digits[Int(byte >> 4)])
          text.initializeElement(at: 2 * index + 1, to: digits[Int(byte & 15)])
        }
      }
      return 2 * bytes.count
    }
  }
}

/// SHA-256 as in FIPS 180-4 §6.2, for platforms without CryptoKit. Verified with NIST's test
/// vectors.
struct PortableSHA256 {
  private var state = SIMD8<UInt32>(
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19)
  /// The bytes that do not fill a block yet. A vector needs no allocation.
  private var block = SIMD64<UInt8>()
  private var filled = 0
  private var count: UInt64 = 0

  mutating func update(_ bytes: some Sequence<UInt8>) {
    if bytes.withContiguousStorageIfAvailable({ add($0) }) == nil { for byte in bytes { add(byte) } }
  }

  mutating func finalize() -> [UInt8] {
    let (bits, filled) = ((count &* 8).bigEndian, filled)
    withUnsafeMutableBytes(of: &block) { block in
      block[filled] = 0x80
      for index in (filled + 1)..<64 { block[index] = 0 }
      guard filled < 56 else { return }
      block.storeBytes(of: bits, toByteOffset: 56, as: UInt64.self)
    }
    withUnsafeBytes(of: block) { Self.compress($0, &state) }
    if filled >= 56 {
      block = SIMD64()
      withUnsafeMutableBytes(of: &block) { $0.storeBytes(of: bits, toByteOffset: 56, as: UInt64.self) }
      withUnsafeBytes(of: block) { Self.compress($0, &state) }
    }
    return [UInt8](unsafeUninitializedCapacity: 32) { bytes, count in
      for index in 0..<8 {
        UnsafeMutableRawBufferPointer(bytes)
          .storeBytes(of: state[index].bigEndian, toByteOffset: 4 * index, as: UInt32.self)
      }
      count = 32
    }
  }

  private mutating func add(_ byte: UInt8) {
    block[filled] = byte
    filled += 1
    count &+= 1
    guard filled == 64 else { return }
    filled = 0
    withUnsafeBytes(of: block) { Self.compress($0, &state) }
  }

  /// Adds bytes, and compresses whole blocks in place.
  private mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
    var rest = bytes[...]
    while filled != 0, let byte = rest.popFirst() { add(byte) }
    while rest.count >= 64 {
      Self.compress(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: rest.prefix(64))), &state)
      count &+= 64
      rest = rest.dropFirst(64)
    }
    withUnsafeMutableBytes(of: &block) { UnsafeMutableRawBufferPointer(rebasing: $0[filled...]).copyBytes(from: rest) }
    filled += rest.count
    count &+= UInt64(rest.count)
  }

  /// Compresses one block of 64 bytes into the state (§6.2.2).
  private static func compress(_ block: UnsafeRawBufferPointer, _ state: inout SIMD8<UInt32>) {
    state = constants.withUnsafeBufferPointer { constants in
      withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { compress(block, state, constants, $0) }
    }
  }

  /// - Parameter w: The room for the message schedule, 64 words.
  private static func compress(
    _ block: UnsafeRawBufferPointer, _ state: SIMD8<UInt32>, _ constants: UnsafeBufferPointer<UInt32>,
    _ w: UnsafeMutableBufferPointer<UInt32>
  ) -> SIMD8<UInt32> {
    for i in 0..<16 { w[i] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: 4 * i, as: UInt32.self)) }
    for i in 16..<64 {
      let (x, y) = (w[i - 15], w[i - 2])
      let s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x &>> 3)
      let s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y &>> 10)
      w[i] = w[i - 16] &+ s0 &+ w[i - 7] &+ s1
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    // Eight rounds at once: the variables change their roles, and no value moves.
    var i = 0
    while i < 64 {
      round(a, b, c, &d, e, f, g, &h, constants[i] &+ w[i])
      round(h, a, b, &c, d, e, f, &g, constants[i + 1] &+ w[i + 1])
      round(g, h, a, &b, c, d, e, &f, constants[i + 2] &+ w[i + 2])
      round(f, g, h, &a, b, c, d, &e, constants[i + 3] &+ w[i + 3])
      round(e, f, g, &h, a, b, c, &d, constants[i + 4] &+ w[i + 4])
      round(d, e, f, &g, h, a, b, &c, constants[i + 5] &+ w[i + 5])
      round(c, d, e, &f, g, h, a, &b, constants[i + 6] &+ w[i + 6])
      round(b, c, d, &e, f, g, h, &a, constants[i + 7] &+ w[i + 7])
      i &+= 8
    }
    return state &+ SIMD8(a, b, c, d, e, f, g, h)
  }

  @inline(__always) private static func round(
    _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: inout UInt32, _ e: UInt32, _ f: UInt32, _ g: UInt32,
    _ h: inout UInt32, _ input: UInt32
  ) {
    let t1 = h &+ (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) &+ (g ^ (e & (f ^ g))) &+ input
    d &+= t1
    h = t1 &+ (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) &+ ((a & b) | (c & (a | b)))
  }

  @inline(__always) private static func rotate(_ x: UInt32, _ n: UInt32) -> UInt32 { x &>> n | x &<< (32 &- n) }

  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]
}

/// HMAC-SHA-256 (RFC 2104, FIPS 198-1). Verified with RFC 4231's test vectors.
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
