/// A JSON value of any kind.
///
/// ```swift
/// let json: JSONValue = ["title": "Moon", "tags": ["space"]]
/// json["tags.0"]  // "space"
/// ```
///
/// Values of different cases are never equal: `.integer(1)` is not equal to `.number(1)`.
public enum JSONValue: Sendable, Hashable {
  /// JSON's null. A missing member is absent from its ``object(_:)`` instead.
  case null
  /// A Boolean, `true` or `false`. Numbers are never read as Booleans.
  case bool(Bool)
  /// An integer that fits `Int64`.
  ///
  /// ``init(parsing:)`` also uses this case for an integer of magnitude 2⁵³ or more that is written
  /// with a fraction or an exponent, such as `1e18`. A `Double` is not exact there.
  case integer(Int64)
  /// An integer above `Int64.max`. ``init(_:)`` and ``init(parsing:)`` use this case for no other
  /// integers.
  case unsigned(UInt64)
  /// Any other number, rounded to the nearest `Double`.
  ///
  /// ``init(parsing:)`` uses this case for numbers with a fraction or an exponent, and for integers
  /// that do not fit 64 bits. JSON has no infinity and no NaN, so ``data(sortedKeys:)`` throws for
  /// them.
  case number(Double)
  /// A string, with its escapes resolved.
  case string(String)
  /// An array, in the order of its elements.
  case array([JSONValue])
  /// An object, without the order of its members. ``init(parsing:)`` uses the first member of each
  /// name.
  case object([String: JSONValue])

  /// The largest depth of nesting that is read and written: 512 levels. Deeper values throw
  /// ``ParserError/Reason/tooDeep``.
  public static let maximumDepth = 512

  /// Creates an ``integer(_:)`` if the value fits `Int64`, and an ``unsigned(_:)`` otherwise.
  public init(_ integer: UInt64) {
    self = Int64(exactly: integer).map(JSONValue.integer) ?? .unsigned(integer)
  }

  /// The value at a path of names and indices, such as `author.name` or `tags.0`.
  ///
  /// ```swift
  /// if case .string(let name) = json["articles.0.author.name"] { show(name) }
  /// ```
  ///
  /// `nil` if there is no value at the path; a null at the path is `.null`. A number is an index in
  /// an array, and a name in an object. An empty path is the value itself. A name with a dot cannot
  /// be part of a path; use ``value(_:)`` for one.
  public subscript(keyPath: String) -> JSONValue? {
    var value = self
    for component in JSONPath(keyPath: keyPath).components {
      switch value {
      case .object(let members):
        guard let member = members[component.name] else { return Optional.none }
        value = member
      case .array(let elements):
        guard let index = component.index, index < elements.count else { return Optional.none }
        value = elements[index]
      default: return Optional.none
      }
    }
    return value
  }

  /// The name of the value's kind in messages, such as *a string*.
  var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "a Boolean"
    case .integer, .unsigned, .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSONValue: CustomStringConvertible {
  /// The value as compact JSON with sorted keys.
  ///
  /// An infinite number or NaN is written as in Swift. An array or object that contains one, or
  /// that is nested too deep, is described by a fixed text.
  public var description: String {
    if let data = try? data() { return String(decoding: data, as: UTF8.self) }
    return if case .number(let value) = self { "\(value)" } else {
      "a JSON value with a part that JSON cannot represent"
    }
  }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(nilLiteral: ()) { self = .null }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// Creates an object. Of members with the same name, the first is used.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements) { first, _ in first })
  }
}

extension JSONValue: Codable {
  /// Creates a value by decoding it.
  ///
  /// A number that the decoder can read as an integer of 64 bits is an ``integer(_:)`` or an
  /// ``unsigned(_:)``. That may include `1.0`, which ``init(parsing:)`` reads as a `.number`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
      // Arrays and objects come first. If scalars did, each level would refuse several types, which
      // costs Foundation's decoder time that grows with the square of the depth.
    } else if (try? decoder.unkeyedContainer()) != nil {
      self = .array(try container.decode([JSONValue].self))
    } else if (try? decoder.container(keyedBy: Name.self)) != nil {
      self = .object(try container.decode([String: JSONValue].self))
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(UInt64.self) {
      self = .unsigned(value)
    } else {
      self = .number(try container.decode(Double.self))
    }
  }

  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .unsigned(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}
