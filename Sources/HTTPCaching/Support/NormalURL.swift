/// The spelling of a URL that all equivalent ones share in keys (RFC 9110 §4.2.3, RFC 3986 §6.2.2).
///
/// Scheme and host are in lower case, a default port is left out, and an empty path is `/`. An
/// unreserved character stands for its percent-encoding, and the other encodings have digits in
/// upper case. Control characters are encoded, so that the text fits on one line. The URL that is
/// sent to a server keeps its spelling.
package enum NormalURL {
  /// Returns the spelling of `url`, which has the same spelling itself.
  package static func spelling(of url: String) -> String {
    var url = url
    let spelling = url.withUTF8 { bytes -> String? in
      let head = Head(bytes)
      if head.isNormal(in: bytes), isNormal(bytes[head.end...]) { return nil }
      var out: [UInt8] = []
      out.reserveCapacity(bytes.count + 1)
      head.append(bytes, to: &out)
      append(bytes[head.end...], to: &out)
      return String(decoding: out, as: UTF8.self)
    }
    // Decoded, a text may be another kind of URL: its scheme may have been encoded.
    guard let spelling, !spelling.hasSameBytes(as: url) else { return url }
    return self.spelling(of: spelling)
  }

  private static func isNormal(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if isControl(byte) { return false }
      if byte == UInt8(ascii: "%"), let value = value(bytes, at: index) {
        if isUnreserved(value) || isLowercase(bytes[index + 1]) || isLowercase(bytes[index + 2]) { return false }
      }
      index += 1
    }
    return true
  }

  private static func append(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, to out: inout [UInt8]) {
    var index = bytes.startIndex
    // A `%` that is not part of an encoding must not become part of one, or the spelling would not
    // be stable.
    var bare = Int.min / 2
    while index < bytes.endIndex {
      let byte = bytes[index]
      if byte == UInt8(ascii: "%"), let value = value(bytes, at: index) {
        if isUnreserved(value), out.count - bare > 2 { out.append(value) } else { encode(value, to: &out) }
        index += 3
        continue
      }
      if byte == UInt8(ascii: "%") { bare = out.count }
      if isControl(byte) { encode(byte, to: &out) } else { out.append(byte) }
      index += 1
    }
  }

  /// Appends the percent-encoding of a byte.
  static func encode(_ byte: UInt8, to out: inout [UInt8]) {
    out += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  /// Returns the byte that is encoded at `index`, or `nil` without two digits.
  private static func value(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, at index: Int) -> UInt8? {
    guard index + 2 < bytes.endIndex, let high = digit(bytes[index + 1]), let low = digit(bytes[index + 2]) else {
      return nil
    }
    return high << 4 | low
  }

  /// Returns the value of a hexadecimal digit, or `nil` for another character.
  static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  private static let digits = Array("0123456789ABCDEF".utf8)

  private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7f }

  private static func isLowercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

  private static func isUnreserved(_ byte: UInt8) -> Bool { PercentEncoding.isUnreserved(byte) }
}

extension NormalURL {
  /// The scheme and the authority of an absolute URL; empty for any other text.
  private struct Head {
    /// The length of the scheme.
    private var schemeEnd = 0
    /// The beginning of the host: behind the user and the password.
    private var hostStart = 0
    /// The end of the host, before the port.
    private var hostEnd = 0
    /// A Boolean value that indicates whether the port says nothing that the scheme does not.
    private var hasIdlePort = false
    /// The end of the authority.
    private(set) var end = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
      guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0, colon + 2 < bytes.count,
        bytes[colon + 1] == UInt8(ascii: "/"), bytes[colon + 2] == UInt8(ascii: "/"),
        bytes[..<colon].allSatisfy(Self.isOfScheme)
      else { return }
      let authority = bytes[(colon + 3)...].prefix {
        $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
      }
      (schemeEnd, end, hostStart, hostEnd) = (colon, authority.endIndex, authority.startIndex, authority.endIndex)
      if let user = authority.lastIndex(of: UInt8(ascii: "@")) { hostStart = user + 1 }
      guard let port = bytes[hostStart..<end].lastIndex(of: UInt8(ascii: ":")),
        bytes[(port + 1)..<end].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
      else { return }
      hostEnd = port
      let scheme = String(decoding: bytes[..<schemeEnd], as: UTF8.self).lowercased()
      let number = bytes[(port + 1)..<end]
      hasIdlePort = number.isEmpty || number.elementsEqual((Self.ports[scheme] ?? "-").utf8)
    }

    func isNormal(in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
      guard end > 0 else { return true }
      let isUppercase = { (byte: UInt8) in (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
      return !hasIdlePort && end < bytes.count && bytes[end] == UInt8(ascii: "/")
        && !bytes[..<schemeEnd].contains(where: isUppercase) && !bytes[hostStart..<hostEnd].contains(where: isUppercase)
        && NormalURL.isNormal(bytes[schemeEnd..<end])
    }

    func append(_ bytes: UnsafeBufferPointer<UInt8>, to out: inout [UInt8]) {
      guard end > 0 else { return }
      out += bytes[..<schemeEnd].map(\.asciiLowercased)
      NormalURL.append(bytes[schemeEnd..<hostStart], to: &out)
      var host: [UInt8] = []
      NormalURL.append(bytes[hostStart..<hostEnd], to: &host)
      // The digits of an encoding stay in upper case.
      var isEncoded = 0
      for byte in host {
        isEncoded = byte == UInt8(ascii: "%") ? 3 : isEncoded
        out.append(isEncoded > 0 ? byte : byte.asciiLowercased)
        isEncoded = max(0, isEncoded - 1)
      }
      if !hasIdlePort { out += bytes[hostEnd..<end] }
      if end == bytes.count || bytes[end] != UInt8(ascii: "/") { out.append(UInt8(ascii: "/")) }
    }

    private static func isOfScheme(_ byte: UInt8) -> Bool {
      PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "_") && byte != UInt8(ascii: "~")
        || byte == UInt8(ascii: "+")
    }

    private static let ports = ["http": "80", "https": "443"]
  }
}
