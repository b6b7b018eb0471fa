import Foundation
import HTTPTypes

/// A dictionary of structured fields (RFC 9651 §3.2), as far as caches need it: its keys, and those
/// of its values that are a Boolean or an integer.
struct StructuredDictionary: Hashable, Sendable {
  enum Value: Hashable, Sendable {
    case boolean(Bool)
    case integer(Int64)
    /// A value of another type, which no directive of a cache has.
    case other
  }

  /// The members. Of several with one key, the last counts (§4.2.2).
  private(set) var members: [String: Value] = [:]

  /// Parses all lines of a field as one dictionary (§4.2.2).
  ///
  /// - Returns: `nil` where any part of the field is invalid, since the whole field is then ignored
  ///   (§4.2).
  init?(_ fields: HTTPFields, _ name: HTTPField.Name) {
    var bytes: [UInt8] = []
    for field in fields where field.name == name {
      if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
      field.withUnsafeBytesOfValue { bytes.append(contentsOf: $0) }
    }
    var parser = StructuredParser(bytes: bytes)
    guard let members = parser.dictionary() else { return nil }
    self.members = members
  }
}

/// The parser of RFC 9651 §4.2, over the bytes of a whole field. Each method returns `nil` where
/// the bytes are not the type that it reads.
private struct StructuredParser {
  typealias Value = StructuredDictionary.Value

  let bytes: [UInt8]
  private var index = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    index += 1
    return true
  }

  private mutating func skip(tabs: Bool = false) {
    while next == UInt8(ascii: " ") || (tabs && next == UInt8(ascii: "\t")) { index += 1 }
  }

  mutating func dictionary() -> [String: Value]? {
    var members: [String: Value] = [:]
    skip()
    while next != nil {
      guard let key = key() else { return nil }
      var value = Value.boolean(true)
      if take(UInt8(ascii: "=")) {
        guard let own = next == UInt8(ascii: "(") ? innerList() : bareItem() else { return nil }
        value = own
      }
      guard parameters() else { return nil }
      members[key] = value
      skip(tabs: true)
      guard next != nil else { break }
      guard take(UInt8(ascii: ",")) else { return nil }
      skip(tabs: true)
      // A comma at the end (§4.2.2).
      guard next != nil else { return nil }
    }
    return members
  }

  private mutating func key() -> String? {
    let start = index
    guard let first = next, Self.isLower(first) || first == UInt8(ascii: "*") else { return nil }
    while let byte = next, Self.isLower(byte) || Self.isDigit(byte) || "_-.*".utf8.contains(byte) { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func parameters() -> Bool {
    while take(UInt8(ascii: ";")) {
      skip()
      guard key() != nil else { return false }
      if take(UInt8(ascii: "=")), bareItem() == nil { return false }
    }
    return true
  }

  private mutating func innerList() -> Value? {
    index += 1
    while next != nil {
      skip()
      if take(UInt8(ascii: ")")) { return .other }
      guard bareItem() != nil, parameters() else { return nil }
      guard next == UInt8(ascii: " ") || next == UInt8(ascii: ")") else { return nil }
    }
    return nil
  }

  private mutating func bareItem() -> Value? {
    guard let first = next else { return nil }
    switch first {
    case UInt8(ascii: "?"): return boolean()
    case UInt8(ascii: "\""):
      index += 1
      return quoted(percent: false)
    case UInt8(ascii: ":"): return binary()
    case UInt8(ascii: "@"):
      index += 1
      if case .integer = number() { return .other }
      return nil
    case UInt8(ascii: "%"):
      index += 1
      return take(UInt8(ascii: "\"")) ? quoted(percent: true) : nil
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
    default: return token()
    }
  }

  private mutating func boolean() -> Value? {
    index += 1
    if take(UInt8(ascii: "1")) { return .boolean(true) }
    return take(UInt8(ascii: "0")) ? .boolean(false) : nil
  }

  /// Reads an integer of at most 15 digits, or a decimal of at most 12 digits and 3 after the point
  /// (§4.2.4).
  private mutating func number() -> Value? {
    let isNegative = take(UInt8(ascii: "-"))
    let digits = self.digits()
    guard !digits.isEmpty, digits.count <= 15 else { return nil }
    if take(UInt8(ascii: ".")) {
      let fraction = self.digits()
      return digits.count <= 12 && (1...3).contains(fraction.count) ? .other : nil
    }
    let magnitude = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    return .integer(isNegative ? -magnitude : magnitude)
  }

  private mutating func digits() -> ArraySlice<UInt8> {
    let start = index
    while let byte = next, Self.isDigit(byte) { index += 1 }
    return bytes[start..<index]
  }

  /// Reads a string (§4.2.5) or a display string (§4.2.10) after its opening quote.
  private mutating func quoted(percent: Bool) -> Value? {
    var text: [UInt8] = []
    while let byte = next {
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return !percent || String(validating: text, as: UTF8.self) != nil ? .other : nil
      case UInt8(ascii: "\\") where !percent:
        guard take(UInt8(ascii: "\"")) || take(UInt8(ascii: "\\")) else { return nil }
      case UInt8(ascii: "%") where percent:
        guard let high = hexDigit(), let low = hexDigit() else { return nil }
        text.append(high << 4 | low)
      case 0x20...0x7e: text.append(byte)
      default: return nil
      }
    }
    return nil
  }

  private mutating func hexDigit() -> UInt8? {
    guard let byte = next else { return nil }
    index += 1
    if Self.isDigit(byte) { return byte - UInt8(ascii: "0") }
    return (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte) ? byte - UInt8(ascii: "a") + 10 : nil
  }

  private mutating func binary() -> Value? {
    index += 1
    while let byte = next {
      index += 1
      if byte == UInt8(ascii: ":") { return .other }
      guard Self.isLetter(byte) || Self.isDigit(byte) || "+/=".utf8.contains(byte) else { return nil }
    }
    return nil
  }

  private mutating func token() -> Value? {
    guard let first = next, Self.isLetter(first) || first == UInt8(ascii: "*") else { return nil }
    let others = "!#$%&'*+-.^_`|~:/".utf8
    while let byte = next, Self.isLetter(byte) || Self.isDigit(byte) || others.contains(byte) { index += 1 }
    return .other
  }

  private static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
  private static func isLetter(_ byte: UInt8) -> Bool { isLower(byte.asciiLowercased) }
}
