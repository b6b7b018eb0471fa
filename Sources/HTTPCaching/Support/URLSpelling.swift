package import HTTPTypes

extension String {
  /// Joins strings with one allocation. Appending each part would cost as much as the whole.
  init(joining parts: [String]) {
    self.init(unsafeUninitializedCapacity: parts.reduce(0) { $0 + $1.utf8.count }) { buffer in
      parts.reduce(0) { count, part in
        _ = buffer[count...].update(fromContentsOf: part.utf8)
        return count + part.utf8.count
      }
    }
  }

  /// Returns whether both strings have the same bytes. Swift compares Unicode strings by canonical
  /// equivalence, but different bytes are different requests.
  package func hasSameBytes(as other: String) -> Bool {
    let (own, others) = (utf8, other.utf8)
    guard own.count == others.count else { return false }
    // In place: reading each byte through the string would take longer than everything else here.
    let isSame = own.withContiguousStorageIfAvailable { own in
      others.withContiguousStorageIfAvailable { own.elementsEqual($0) }
    }
    return (isSame ?? nil) ?? own.elementsEqual(others)
  }
}

extension HTTPRequest {
  /// The scheme, the authority and the path as one string.
  package var absoluteURL: String { "\(scheme ?? "")://\(authority ?? "")\(path ?? "")" }
}

/// The percent-encoding of the parts of a URL (RFC 3986 §2.1, §3.3, §3.4).
package enum PercentEncoding {
  /// Encodes a path: a lone `%`, and each character that a path cannot hold. Encoded characters
  /// stay as they are.
  package static func path(_ string: some StringProtocol) -> String {
    encode(string, keepsEncoded: true, pathBytes)
  }

  /// Encodes a query that is already written: a lone `%`, and each character that a query cannot
  /// hold.
  package static func writtenQuery(_ string: some StringProtocol) -> String {
    encode(string, keepsEncoded: true, writtenQueryBytes)
  }

  /// Encodes a name or value of a query item. Also encodes `+`, `&`, `=`, `;` and `%`, which
  /// servers read differently.
  package static func queryItem(_ string: some StringProtocol) -> String {
    encode(string, keepsEncoded: false, queryItemBytes)
  }

  /// Encodes a value inside one segment of a path. Also encodes `;`, which ends the segment on some
  /// servers.
  package static func segment(_ string: some StringProtocol) -> String {
    encode(string, keepsEncoded: false, segmentBytes)
  }

  private static let digits = Array("0123456789ABCDEF".utf8)
  private static let pathBytes = table { isUnreserved($0) || "!$&'()*+,;=:@/".utf8.contains($0) }
  private static let segmentBytes = table { isUnreserved($0) || "!$'()*,@".utf8.contains($0) }
  private static let writtenQueryBytes = table { isUnreserved($0) || "!$&'()*+,;=:@/?".utf8.contains($0) }
  private static let queryItemBytes = table { isUnreserved($0) || "!$'()*,:@/?".utf8.contains($0) }

  /// Returns a table of the bytes that are not encoded, indexed by byte.
  private static func table(_ isAllowed: (UInt8) -> Bool) -> [Bool] { (UInt8.min...UInt8.max).map(isAllowed) }

  /// Returns whether a URL may hold the character anywhere without a meaning (RFC 3986 §2.3).
  static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  private static func encode(
    _ string: some StringProtocol, keepsEncoded: Bool, _ isAllowed: [Bool]
  ) -> String {
    guard string.utf8.contains(where: { !isAllowed[Int($0)] }) else { return String(string) }
    let bytes = Array(string.utf8)
    var out: [UInt8] = []
    out.reserveCapacity(bytes.count)
    for (index, byte) in bytes.enumerated() {
      let isEncoded = keepsEncoded && byte == UInt8(ascii: "%") && hasTwoDigits(bytes, after: index)
      if isEncoded || isAllowed[Int(byte)] {
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
