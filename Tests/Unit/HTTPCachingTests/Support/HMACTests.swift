import Testing

@testable import HTTPCaching

@Suite struct `HMAC-SHA-256` {
  /// A test case of RFC 4231 §4. Case 5 is about a truncated code, which the library does not use.
  struct Vector: Sendable, CustomTestStringConvertible {
    var number: Int
    var key: [UInt8]
    var message: [UInt8]
    var code: String
    var testDescription: String { "case \(number)" }
  }

  static let vectors = [
    Vector(
      number: 1, key: Array(repeating: 0x0b, count: 20), message: Array("Hi There".utf8),
      code: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    Vector(
      number: 2, key: Array("Jefe".utf8), message: Array("what do ya want for nothing?".utf8),
      code: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    Vector(
      number: 3, key: Array(repeating: 0xaa, count: 20), message: Array(repeating: 0xdd, count: 50),
      code: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
    Vector(
      number: 4, key: Array(1...25), message: Array(repeating: 0xcd, count: 50),
      code: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
    Vector(
      number: 6, key: Array(repeating: 0xaa, count: 131),
      message: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
      code: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
    Vector(
      number: 7, key: Array(repeating: 0xaa, count: 131),
      message: Array(
        ("This is a test using a larger than block-size key and a larger than block-size data. "
          + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
      code: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
  ]

  @Test(arguments: vectors) func `the vectors of RFC 4231 hold`(vector: Vector) {
    #expect(HMAC.hex(vector.message, key: vector.key) == vector.code)
  }
}

@Suite struct `A secret key` {
  @Test func `a secret key is random, and has a fixed length`() {
    #expect(RecordKey.SecretKey().bytes.count == 32 && RecordKey.SecretKey() != RecordKey.SecretKey())
    for count in [0, 31, 33] { #expect(RecordKey.SecretKey(bytes: repeatElement(1, count: count)) == nil) }
    #expect(RecordKey.SecretKey(bytes: 0..<32)?.bytes == Array(0..<32))
  }

  @Test func `a secret key shows its bytes in no text`() throws {
    let key = try #require(RecordKey.SecretKey(bytes: repeatElement(173, count: 32)))
    var text = "\(key) \(String(reflecting: key))"
    dump(key, to: &text)
    dump(SecretDigests(key), to: &text)
    dump(HTTPCache(persistence: nil), to: &text)
    #expect(!text.contains("173") && !text.contains("adad"))
  }

  @Test func `a secret key makes equal digests of equal secrets, and others under another key`() {
    let (one, same, other) = (RecordKey.SecretKey(), SecretDigests.ofProcess, SecretDigests(RecordKey.SecretKey()))
    let secret = Array("hunter2".utf8)
    #expect(SecretDigests(one).digest(secret) == SecretDigests(one).digest(secret))
    #expect(SecretDigests(one).digest(secret) != SecretDigests(one).digest(secret + [0]))
    #expect(Set([SecretDigests(one), same, other].map { $0.digest(secret) }).count == 3)
  }
}
