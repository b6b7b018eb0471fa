package import HTTPTypes

/// A structured field (RFC 9651): a list or a dictionary of items with parameters.
///
/// It reads the types that HTTP's own fields have. A byte sequence and a display string are
/// checked, and their content is not kept.
package enum StructuredField {
  package enum Value: Hashable, Sendable {
    case boolean(Bool)
    case integer(Int64)
    case decimal(Double)
    case string(String)
    case token(String)
    /// The seconds since 1970 (§3.3.7).
    case date(Int64)
    /// The items of an inner list (§3.1.1).
    case innerList([Item])
    /// A byte sequence or a display string.
    case other
  }

  /// A value with its parameters. Of several parameters with one key, the last counts (§4.2.3.2).
  package struct Item: Hashable, Sendable {
    package var value: Value
    package var parameters: [String: Value] = [:]
  }

  /// Returns the members of all lines of a field (§4.2.2). Of several with one key, the last
  /// counts.
  ///
  /// - Returns: `nil` where any part of the field is invalid, since the whole field is then ignored
  ///   (§4.2).
  package static func dictionary(_ fields: HTTPFields, _ name: HTTPField.Name) -> [String: Item]? {
    var parser = StructuredParser(bytes: bytes(fields, name))
    return parser.dictionary()
  }

  /// Returns the elements of all lines of a field (§4.2.1).
  ///
  /// - Returns: `nil` where any part of the field is invalid, since the whole field is then ignored
  ///   (§4.2).
  package static func list(_ fields: HTTPFields, _ name: HTTPField.Name) -> [Item]? {
    var parser = StructuredParser(bytes: bytes(fields, name))
    return parser.list()
  }

  private static func bytes(_ fields: HTTPFields, _ name: HTTPField.Name) -> [UInt8] {
    var bytes: [UInt8] = []
    for field in fields where field.name == name {
      if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
      field.withUnsafeBytesOfValue { bytes.append(contentsOf: $0) }
    }
    return bytes
  }
}

/// The parser of RFC 9651 §4.2, over the bytes of a whole field. Each method returns `nil` where
/// the bytes are not the type that it reads.
private struct StructuredParser {
  typealias Value = StructuredField.Value
  typealias Item = StructuredField.Item

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

  mutating func dictionary() -> [String: Item]? {
    var members: [String: Item] = [:]
    let isValid = elements { parser in
      guard let key = parser.key() else { return false }
      let value = parser.take(UInt8(ascii: "=")) ? parser.member() : .boolean(true)
      guard let value, let parameters = parser.parameters() else { return false }
      members[key] = Item(value: value, parameters: parameters)
      return true
    }
    return isValid ? members : nil
  }

  mutating func list() -> [Item]? {
    var items: [Item] = []
    let isValid = elements { parser in
      guard let value = parser.member(), let parameters = parser.parameters() else { return false }
      items.append(Item(value: value, parameters: parameters))
      return true
    }
    return isValid ? items : nil
  }

  /// Reads what commas separate, up to the end (§4.2.1, §4.2.2).
  private mutating func elements(_ read: (inout StructuredParser) -> Bool) -> Bool {
    skip()
    while next != nil {
      guard read(&self) else { return false }
      skip(tabs: true)
      guard next != nil else { break }
      guard take(UInt8(ascii: ",")) else { return false }
      skip(tabs: true)
      // A comma at the end (§4.2.2).
      guard next != nil else { return false }
    }
    return true
  }

  private mutating func member() -> Value? { next == UInt8(ascii: "(") ? innerList() : bareItem() }

  private mutating func key() -> String? {
    let start = index
    guard let first = next, Self.isLower(first) || first == UInt8(ascii: "*") else { return nil }
    while let byte = next, Self.isLower(byte) || Self.isDigit(byte) || "_-.*".utf8.contains(byte) { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func parameters() -> [String: Value]? {
    var parameters: [String: Value] = [:]
    while take(UInt8(ascii: ";")) {
      skip()
      guard let key = key(), let value = take(UInt8(ascii: "=")) ? bareItem() : .boolean(true) else { return nil }
      parameters[key] = value
    }
    return parameters
  }

  private mutating func innerList() -> Value? {
    index += 1
    var items: [Item] = []
    while next != nil {
      skip()
      if take(UInt8(ascii: ")")) { return .innerList(items) }
      guard let value = bareItem(), let parameters = parameters() else { return nil }
      items.append(Item(value: value, parameters: parameters))
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
      return if case .integer(let seconds)? = number() { .date(seconds) } else { nil }
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
      guard digits.count <= 12, (1...3).contains(fraction.count),
        let value = Double(String(decoding: digits, as: UTF8.self) + "." + String(decoding: fraction, as: UTF8.self))
      else { return nil }
      return .decimal(isNegative ? -value : value)
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
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else { return nil }
        return percent ? .other : .string(string)
      case UInt8(ascii: "\\") where !percent:
        guard let escaped = next, take(UInt8(ascii: "\"")) || take(UInt8(ascii: "\\")) else { return nil }
        text.append(escaped)
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
    let (start, others) = (index, "!#$%&'*+-.^_`|~:/".utf8)
    while let byte = next, Self.isLetter(byte) || Self.isDigit(byte) || others.contains(byte) { index += 1 }
    return .token(String(decoding: bytes[start..<index], as: UTF8.self))
  }

  private static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
  private static func isLetter(_ byte: UInt8) -> Bool { isLower(byte.asciiLowercased) }
}
