import Foundation

/// JSON on one line.
enum CompactJSON {
  /// Returns `json` without white space outside of strings and without a byte order mark. All other
  /// bytes stay as they are.
  ///
  /// - Parameter json: Complete and valid JSON, whose strings contain no raw newline (RFC 8259 §7).
  static func bytes(_ json: Data) -> Data {
    var result: [UInt8] = []
    result.reserveCapacity(json.count)
    var isInString = false
    var isEscaped = false
    for byte in json.starts(with: [0xEF, 0xBB, 0xBF]) ? json.dropFirst(3) : json {
      if isInString {
        isInString = isEscaped || byte != UInt8(ascii: "\"")
        isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
      } else if isWhiteSpace(byte) {
        continue
      } else {
        isInString = byte == UInt8(ascii: "\"")
      }
      result.append(byte)
    }
    return Data(result)
  }

  private static func isWhiteSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }
}
