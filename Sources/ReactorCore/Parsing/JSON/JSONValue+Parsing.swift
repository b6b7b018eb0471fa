public import Foundation

extension JSONValue {
  /// The value that `data`, one JSON text in UTF-8, holds.
  ///
  /// Where a member stands twice, the first wins. An integer that no 64 bits hold is a
  /// ``number(_:)``, the nearest.
  /// - Throws: `.unacceptable` for a number beyond `Double`, and for an escaped surrogate without its other half.
  public init(parsing data: Data) throws(ParserError) {
    let document = try JSONDocument(data, path: JSONPath())
    do throws(JSONFault) {
      self = try document.value(in: document.location.range)
    } catch {
      throw document.error(error)
    }
  }
}

extension JSONDocument {
  /// - Throws: where a number or a string in it cannot be held.
  func value(in range: Range<Int>) throws(JSONFault) -> JSONValue {
    try data.withJSONBytes { bytes throws(JSONFault) in
      var builder = JSONValueBuilder()
      var scanner = JSONScanner(bytes, range: range)
      try scanner.scan(&builder)
      guard var fault = builder.fault else { return builder.value }
      var finder = JSONPathFinder(limit: 1) { token, _ in token.start == fault.offset }
      var second = JSONScanner(bytes, range: range)
      try second.scan(&finder)
      fault.path = finder.found.first?.path ?? JSONPath()
      throw fault
    }
  }
}

/// Builds a ``JSONValue`` bottom-up on a stack of finished values, without recursion.
private struct JSONValueBuilder: JSONVisitor {
  /// The first value that is JSON and cannot be held.
  private(set) var fault: JSONFault?

  private var values: [JSONValue] = []
  private var keys: [String] = []
  /// For each open container, how many values and keys there were before it.
  private var starts: [(values: Int, keys: Int)] = []

  var value: JSONValue { values.last ?? .null }
  var isFinished: Bool { fault != nil }

  mutating func visit(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) {
    switch token.kind {
    case .beginObject, .beginArray: starts.append((values.count, keys.count))
    case .endObject: endObject()
    case .endArray: endArray()
    case .key: keys.append(string(token, in: bytes))
    case .string: values.append(.string(string(token, in: bytes)))
    case .number: values.append(number(token, in: bytes))
    case .bool: values.append(.bool(bytes[token.start] == UInt8(ascii: "t")))
    case .null: values.append(.null)
    }
  }

  private mutating func endArray() {
    guard let start = starts.popLast() else { return }
    let elements = Array(values[start.values...])
    values.removeSubrange(start.values...)
    values.append(.array(elements))
  }

  private mutating func endObject() {
    guard let start = starts.popLast() else { return }
    let members = Dictionary(zip(keys[start.keys...], values[start.values...])) { first, _ in first }
    values.removeSubrange(start.values...)
    keys.removeSubrange(start.keys...)
    values.append(.object(members))
  }

  private mutating func string(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) -> String {
    if let text = JSONText.string(token, in: bytes) { return text }
    fail("a string whose escaped surrogates come in pairs", token)
    return ""
  }

  private mutating func number(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) -> JSONValue {
    let text = String(decoding: bytes[token.start..<token.end], as: UTF8.self)
    if !token.isComplex, let integer = JSONValue(integer: text) { return integer }
    if let number = Double(text), number.isFinite {
      // Of these, a Double may be another integer.
      let isLarge = 0x1p53...0x1p64 ~= number.magnitude
      return isLarge ? JSONValue(integerWithExponent: text) ?? .number(number) : .number(number)
    }
    fail("a number that fits a Double", token)
    return .null
  }

  private mutating func fail(_ expected: String, _ token: JSONToken) {
    if fault == nil { fault = JSONFault(reason: .unacceptable, expected: "expected \(expected)", offset: token.start) }
  }
}

extension JSONValue {
  /// `nil` where no 64 bits hold it.
  fileprivate init?(integer text: String) {
    if let integer = Int64(text) {
      self = .integer(integer)
    } else if let integer = UInt64(text) {
      self = .unsigned(integer)
    } else {
      return nil
    }
  }

  /// The integer that a number with a fraction or an exponent is exactly, as 1.5e18 is; `nil` where it
  /// is none, or no 64 bits hold it.
  fileprivate init?(integerWithExponent text: String) {
    let parts = text.split(whereSeparator: { $0 == "e" || $0 == "E" })
    guard let mantissa = parts.first, var exponent = parts.count > 1 ? Int(parts[1]) : 0 else { return nil }
    let halves = mantissa.split(separator: ".")
    let fraction = halves.count > 1 ? halves[1] : ""
    var digits = String(halves[0] + fraction)
    guard exponent.magnitude < Int.max else { return nil }
    exponent -= fraction.utf8.count
    while exponent < 0, digits.last == "0" {
      digits.removeLast()
      exponent += 1
    }
    guard 0...20 ~= exponent else { return nil }
    self.init(integer: digits + String(repeating: "0", count: exponent))
  }
}
