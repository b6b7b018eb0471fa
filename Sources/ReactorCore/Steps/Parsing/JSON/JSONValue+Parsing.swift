import FastJSON
public import Foundation

extension JSONValue {
  /// Creates a value from a JSON text in UTF-8, UTF-16 or UTF-32.
  ///
  /// ```swift
  /// let json = try JSONValue(parsing: body)
  /// ```
  ///
  /// Of members with the same name, the first is used. An integer that does not fit 64 bits becomes
  /// the nearest `.number`.
  /// - Throws: A ``ParserError`` with its position, and with one of these reasons:
  ///   ``ParserError/Reason/empty`` for no bytes, ``ParserError/Reason/notJSON``,
  ///   ``ParserError/Reason/tooDeep`` for more than ``maximumDepth`` levels, or
  ///   ``ParserError/Reason/unacceptable``. The last is for a number beyond the range of `Double`,
  ///   half of an escaped surrogate pair, and more than 1 GiB of text.
  public init(parsing data: Data) throws(ParserError) {
    self = try JSONDocument.read(data) { document throws(ParserError) in
      do {
        return try document.json(at: document.value)
      } catch {
        throw document.error(error)
      }
    }
  }
}

extension JSONDocument {
  /// Returns a value of the document as a ``JSONValue``.
  ///
  /// - Throws: A `DecodingError` if a number is beyond the range of `Double`, or a string has half
  ///   of a surrogate pair. Its path begins at `value`.
  func json(at value: JSONTree.Value) throws(DecodingError) -> JSONValue {
    var reader = JSONValueReader(tree: tree)
    return try reader.read(value)
  }
}

/// Makes a ``JSONValue`` from a parsed text, whose depth is at most ``JSONValue/maximumDepth``.
private struct JSONValueReader {
  let tree: JSONTree
  private var path: [any CodingKey] = []

  init(tree: JSONTree) { self.tree = tree }

  mutating func read(_ value: JSONTree.Value) throws(DecodingError) -> JSONValue {
    switch tree.kind(of: value) {
    case .null: return .null
    case .bool: return .bool(tree.isTrue(value))
    case .number: return try number(value)
    case .string:
      guard let text = tree.string(value) else { throw unacceptable(value, "a string without unpaired surrogates") }
      return .string(text)
    case .array: return .array(try elements(value))
    case .object: return .object(try members(value))
    }
  }

  private mutating func elements(_ array: JSONTree.Value) throws(DecodingError) -> [JSONValue] {
    var elements: [JSONValue] = []
    elements.reserveCapacity(tree.count(of: array))
    for (number, value) in tree.elements(of: array) {
      path.append(JSONPath.Key(index: number))
      elements.append(try read(value))
      path.removeLast()
    }
    return elements
  }

  private mutating func members(_ object: JSONTree.Value) throws(DecodingError) -> [String: JSONValue] {
    var members = [String: JSONValue](minimumCapacity: tree.count(of: object))
    for (name, value) in tree.members(of: object) {
      path.append(JSONPath.Key(name: name))
      let member = try read(value)
      if members[name] == nil { members[name] = member }
      path.removeLast()
    }
    return members
  }

  private func number(_ value: JSONTree.Value) throws(DecodingError) -> JSONValue {
    if let integer = tree.integer(value, as: Int64.self) { return .integer(integer) }
    if let integer = tree.integer(value, as: UInt64.self) { return .unsigned(integer) }
    guard let number = tree.double(value) else { throw unacceptable(value, "a number that fits a Double") }
    // In this range, the nearest Double may be another integer than the text.
    let isLarge = 0x1p53...0x1p64 ~= number.magnitude
    return isLarge ? JSONValue(integerWithExponent: tree.numberText(value)) ?? .number(number) : .number(number)
  }

  private func unacceptable(_ value: JSONTree.Value, _ expected: String) -> DecodingError {
    .dataCorrupted(
      DecodingError.Context(
        codingPath: path, debugDescription: "Expected \(expected).",
        underlyingError: FastJSONError.at(tree.offset(of: value))))
  }
}

extension JSONValue {
  /// Creates an integer from its digits; `nil` if it does not fit 64 bits.
  fileprivate init?(integer text: String) {
    if let integer = Int64(text) {
      self = .integer(integer)
    } else if let integer = UInt64(text) {
      self = .unsigned(integer)
    } else {
      return nil
    }
  }

  /// Creates an integer from a number with a fraction or an exponent, such as `1.5e18`; `nil` if
  /// the number is not an integer, or does not fit 64 bits.
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
