/// Percent-encoding of the parts of a URL (RFC 3986 §2.1, §3.3, §3.4).
enum PercentEncoding {
  /// A path: what is encoded already stays so, a lone `%` and all that a path cannot hold is encoded.
  static func path(_ string: some StringProtocol) -> String {
    encode(string, keepsEncoded: true) { isUnreserved($0) || Self.pathExtra.contains($0) }
  }

  /// A query as it was written: only what a query cannot hold is encoded.
  static func writtenQuery(_ string: some StringProtocol) -> String {
    encode(string, keepsEncoded: true) { isUnreserved($0) || Self.pathExtra.contains($0) || $0 == UInt8(ascii: "?") }
  }

  /// A name or value of a query item: `+`, `&`, `=`, `;` and `%` are encoded too, since servers disagree about them.
  static func queryItem(_ string: some StringProtocol) -> String {
    encode(string, keepsEncoded: false) { isUnreserved($0) || Self.queryExtra.contains($0) }
  }

  private static let digits = Array("0123456789ABCDEF".utf8)
  /// Text that is to stand on one line: control characters alone are encoded.
  static func line(_ string: String) -> String {
    guard string.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else { return string }
    return encode(string, keepsEncoded: true) { $0 >= 0x20 && $0 != 0x7f }
  }

  private static let pathExtra = Set("!$&'()*+,;=:@/".utf8)
  private static let queryExtra = Set("!$'()*,:@/?".utf8)

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  private static func encode(
    _ string: some StringProtocol, keepsEncoded: Bool, isAllowed: (UInt8) -> Bool
  ) -> String {
    let bytes = Array(string.utf8)
    var out: [UInt8] = []
    out.reserveCapacity(bytes.count)
    for (index, byte) in bytes.enumerated() {
      let isEncoded = keepsEncoded && byte == UInt8(ascii: "%") && hasTwoDigits(bytes, after: index)
      if isEncoded || isAllowed(byte) {
        out.append(byte)
      } else {
        out += [UInt8(ascii: "%"), Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
      }
    }
    return String(decoding: out, as: UTF8.self)
  }

  private static func hasTwoDigits(_ bytes: [UInt8], after index: Int) -> Bool {
    index + 2 < bytes.count
      && [bytes[index + 1], bytes[index + 2]].allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
  }
}
