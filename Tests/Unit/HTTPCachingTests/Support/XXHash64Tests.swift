import Testing

@testable import HTTPCaching

@Suite struct `XXH64` {
  /// From the reference implementation, seed 0: each length class of the algorithm.
  @Test(
    arguments: [
      ("", 0xEF46_DB37_51D8_E999), ("a", 0xD24E_C4F1_A98C_6E5B), ("as", 0x1C33_0FB2_D66B_E179),
      ("abc", 0x44BC_2CF5_AD77_0999), ("asdf", 0x4158_72F5_99CE_A71E), ("xxhash", 0x32DD_3895_2C4B_C720),
      ("Nobody inspects the spammish repetition", 0xFBCE_A83C_8A37_8BF1),
      ("Call me Ishmael. Some years ago--never mind how long precisely-", 0x02A2_E854_70D6_FD96),
    ] as [(String, UInt64)])
  func `the reference's vectors hold`(_ text: String, _ expected: UInt64) {
    #expect(Array(text.utf8).withUnsafeBytes { XXHash64.hash($0) } == expected)
  }

  @Test func `it does not matter how the bytes are aligned`() {
    let bytes = (0..<100).map { UInt8($0) }
    let hashes = (0..<8).map { shift in
      (Array(repeating: 0, count: shift) + bytes).withUnsafeBytes {
        XXHash64.hash(UnsafeRawBufferPointer(rebasing: $0[shift...]))
      }
    }
    #expect(Set(hashes).count == 1)
  }
}
