/// A value of `Content-Type` (RFC 9110 §8.3).
package enum ContentType {
  /// Returns the charset of a text in lower case (RFC 9110 §8.3.2), or UTF-8 if the value names
  /// none.
  package static func charset(of value: String?) -> String {
    guard let value, !isUTF8(value) else { return "utf-8" }
    for parameter in value.utf8.split(separator: UInt8(ascii: ";")).dropFirst() {
      guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")) else { continue }
      let name = parameter[..<equals].lazy.filter(isSignificant).map(\.asciiLowercased)
      guard name.elementsEqual("charset".utf8) else { continue }
      let charset = parameter[equals...].dropFirst().lazy.filter(isSignificant).map(\.asciiLowercased)
      return charset.elementsEqual("utf-8".utf8) ? "utf-8" : String(decoding: Array(charset), as: UTF8.self)
    }
    return "utf-8"
  }

  /// Returns whether a value names no charset, or UTF-8 as most servers write it.
  package static func isUTF8(_ value: String) -> Bool {
    let isUTF8 = value.utf8.withContiguousStorageIfAvailable { bytes -> Bool in
      guard let end = bytes.firstIndex(of: UInt8(ascii: ";")) else { return true }
      let parameter = bytes[(end + 1)...].drop { $0 == UInt8(ascii: " ") }
      let wanted: StaticString = "charset=utf-8"
      guard parameter.count == wanted.utf8CodeUnitCount else { return false }
      return parameter.indices.allSatisfy {
        parameter[$0].asciiLowercased == wanted.utf8Start[$0 - parameter.startIndex]
      }
    }
    return isUTF8 == true
  }

  /// Returns `false` for white space and the quotes of a value.
  private static func isSignificant(_ byte: UInt8) -> Bool {
    byte != UInt8(ascii: " ") && byte != UInt8(ascii: "\t") && byte != UInt8(ascii: "\"")
  }
}
