import FastJSON
public import Foundation

extension JSONValue {
  /// The value that `data`, one JSON text in UTF-8, holds.
  ///
  /// Where a member stands twice, the first wins. An integer that no 64 bits hold is a
  /// ``number(_:)``, the nearest.
  /// - Throws: `.unacceptable` for a number beyond `Double`, and for an escaped surrogate without its other half.
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
  /// - Throws: `DecodingError`, where a number or a string in it cannot be held. Its path begins at `value`.
  func json(at value: JSONTree.Value) throws(DecodingError) -> JSONValue {
    var reader = JSONValueReader(tree: tree)
    return try reader.read(value)
  }
}

/// Makes a ``JSONValue`` of a text that has been parsed, which nests no deeper than ``JSONValue/maximumDepth``.
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
      guard let text = tree.string(value) else { throw unacceptable(value, "a string of whole surrogate pairs") }
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
    // Of these, a Double may be another integer.
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
