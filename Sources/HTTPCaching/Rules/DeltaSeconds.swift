/// A count of seconds in a field (RFC 9111 §1.2.2).
enum DeltaSeconds {
  /// What a greater number counts as.
  static let greatest: Int64 = 1 << 31

  /// The number; what overflows is ``greatest``, and what is no number is `nil`.
  static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
    guard !bytes.isEmpty else { return nil }
    var value: Int64 = 0
    for byte in bytes {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      value = min(greatest, value * 10 + Int64(byte - UInt8(ascii: "0")))
    }
    return value
  }
}
