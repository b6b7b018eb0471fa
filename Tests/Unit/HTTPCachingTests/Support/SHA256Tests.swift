import Foundation
import Testing

@testable import HTTPCaching

@Suite struct `SHA-256` {
  /// NIST's examples for FIPS 180-4.
  static let vectors: [(name: String, input: String, digest: String)] = [
    ("empty", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("24 bits", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "448 bits", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      "896 bits",
      "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
    ),
    (
      "a million bytes", String(repeating: "a", count: 1_000_000),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    ),
  ]

  @Test(arguments: vectors.indices)
  func `NIST's vectors hold, on every platform's implementation`(_ index: Int) {
    let vector = Self.vectors[index]
    #expect(SHA256Digest.hex(Array(vector.input.utf8)) == vector.digest, "\(vector.name)")
    #if canImport(CryptoKit)
      var portable = PortableSHA256()
      portable.update(Array(vector.input.utf8))
      #expect(Hex.encode(portable.finalize()) == vector.digest, "\(vector.name)")
    #endif
  }

  @Test(arguments: [1, 55, 56, 63, 64, 65, 1_000])
  func `pieces of any size give the digest of the whole`(_ size: Int) {
    let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
    var hash = SHA256Digest()
    for start in stride(from: 0, to: bytes.count, by: size) { hash.update(bytes[start..<min(start + size, 1_000)]) }
    #expect(hash.hex() == SHA256Digest.hex(bytes))
  }

  @Test func `messages of every length around a block have the digests of another implementation`() {
    let digests = (0..<200).map { count in SHA256Digest.hex((0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }) }
    // Made with Python's hashlib.
    #expect(
      SHA256Digest.hex(Array(digests.joined().utf8))
        == "ca07a79e06ea4c825585cbbf34308733cb36356746a5eec888d7f813ec003999")
  }

  @Test func `framed strings cannot be shifted into one another`() {
    func digest(_ strings: String...) -> String {
      var hash = SHA256Digest()
      for string in strings { hash.update(framed: string) }
      return hash.hex()
    }
    #expect(digest("ab", "c") != digest("a", "bc"))
    #expect(digest("") != digest("", ""))
    #expect(digest("1:a") != digest("a"))
  }
}
