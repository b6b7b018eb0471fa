public import Foundation

extension JSONValue {
  /// Returns the value as compact JSON in UTF-8, which ``init(parsing:)`` reads.
  ///
  /// ```swift
  /// let body = try JSONValue.object(["title": "Moon", "tags": ["news"]]).data()
  /// ```
  ///
  /// - Parameter sortedKeys: Sorts members by the bytes of their names, so that equal values make
  ///   equal bytes. Otherwise the order of members is arbitrary.
  /// - Throws: ``ParserError/Reason/unacceptable`` for a number that is infinite or NaN, and
  ///   ``ParserError/Reason/tooDeep`` for more than ``maximumDepth`` levels, with the path.
  public func data(sortedKeys: Bool = true) throws(ParserError) -> Data {
    var writer = JSONWriter(sortedKeys: sortedKeys)
    try writer.write(self, depth: 0)
    return Data(writer.bytes)
  }
}

/// Writes values as JSON text without white space.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []
  let sortedKeys: Bool

  mutating func write(_ value: JSONValue, depth: Int) throws(ParserError) {
    switch value {
    case .null: bytes += "null".utf8
    case .bool(let value): bytes += (value ? "true" : "false").utf8
    case .integer(let value): bytes += value.description.utf8
    case .unsigned(let value): bytes += value.description.utf8
    case .number(let value): try write(value)
    case .string(let value): write(value)
    case .array(let elements): try write(elements, depth: depth + 1)
    case .object(let members): try write(members, depth: depth + 1)
    }
  }

  private mutating func write(_ elements: [JSONValue], depth: Int) throws(ParserError) {
    try check(depth)
    bytes.append(UInt8(ascii: "["))
    for (index, element) in elements.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      do throws(ParserError) {
        try write(element, depth: depth)
      } catch {
        throw error.inside(JSONPath([.init(index: index)]))
      }
    }
    bytes.append(UInt8(ascii: "]"))
  }

  private mutating func write(_ members: [String: JSONValue], depth: Int) throws(ParserError) {
    try check(depth)
    bytes.append(UInt8(ascii: "{"))
    var isFirst = true
    for (name, value) in sortedKeys ? members.sorted(by: isBefore) : Array(members) {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      write(name)
      bytes.append(UInt8(ascii: ":"))
      do throws(ParserError) {
        try write(value, depth: depth)
      } catch {
        throw error.inside(JSONPath([.init(name: name)]))
      }
    }
    bytes.append(UInt8(ascii: "}"))
  }

  /// Compares names by their bytes. In Swift 6.3, the order of two strings that are not normalized
  /// changes from run to run.
  private func isBefore(_ one: (key: String, value: JSONValue), _ other: (key: String, value: JSONValue)) -> Bool {
    one.key.utf8.lexicographicallyPrecedes(other.key.utf8)
  }

  private mutating func write(_ number: Double) throws(ParserError) {
    guard number.isFinite else {
      throw ParserError(.unacceptable, expected: "expected a number that JSON can represent, found \(number)")
    }
    // The shortest text that reads as the same number. It always has a point or an exponent, so it
    // is not read as an integer below 2⁵³.
    bytes += number.description.utf8
  }

  mutating func write(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): bytes += "\\n".utf8
      case 0..<0x10: bytes += "\\u000\(String(byte, radix: 16))".utf8
      case 0x10..<0x20: bytes += "\\u00\(String(byte, radix: 16))".utf8
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Opens an object and writes the name of its only member. The caller writes the value and closes
  /// the object.
  mutating func open(_ name: String) {
    bytes.append(UInt8(ascii: "{"))
    write(name)
    bytes.append(UInt8(ascii: ":"))
  }

  private func check(_ depth: Int) throws(ParserError) {
    guard depth <= JSONValue.maximumDepth else {
      throw ParserError(.tooDeep, expected: "expected at most \(JSONValue.maximumDepth) levels of nesting")
    }
  }
}
