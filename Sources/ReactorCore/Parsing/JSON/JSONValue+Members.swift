/// Typed members of an object, for ``Mappable/mapToModel(_:)``.
///
/// Each throws a ``ParserError`` that names the member, what was expected and what was found. The `…IfPresent` variants
/// give `nil` where the member is missing or null, and throw where it has another type. A name is the whole name: no path.
extension JSONValue {
  public func value(_ name: String) throws(ParserError) -> JSONValue {
    guard case .object(let members) = self else {
      throw ParserError(.wrongType, expected: "expected an object, found \(kindName)")
    }
    guard let value = members[name] else {
      throw ParserError(.missing, codingPath: JSONPath([.init(name: name)]).text, expected: "expected a member \(name)")
    }
    return value
  }

  public func valueIfPresent(_ name: String) throws(ParserError) -> JSONValue? {
    guard case .object(let members) = self else {
      throw ParserError(.wrongType, expected: "expected an object, found \(kindName)")
    }
    guard let value = members[name], value != .null else { return nil }
    return value
  }

  public func string(_ name: String) throws(ParserError) -> String {
    try value(name).asString(name)
  }

  public func stringIfPresent(_ name: String) throws(ParserError) -> String? {
    try valueIfPresent(name)?.asString(name)
  }

  /// An integer that fits `Value`, and exactly that.
  ///
  /// `1.0` and `1e2` are integers too.
  /// - Throws: `.unacceptable` for a number that does not fit, or that was not held exactly.
  public func integer<Value: FixedWidthInteger>(
    _ name: String, as type: Value.Type = Int.self
  ) throws(ParserError) -> Value {
    try value(name).asInteger(name)
  }

  public func integerIfPresent<Value: FixedWidthInteger>(
    _ name: String, as type: Value.Type = Int.self
  ) throws(ParserError) -> Value? {
    try valueIfPresent(name)?.asInteger(name)
  }

  /// The number as a `Double`, the nearest one.
  public func number(_ name: String) throws(ParserError) -> Double {
    try value(name).asNumber(name)
  }

  public func numberIfPresent(_ name: String) throws(ParserError) -> Double? {
    try valueIfPresent(name)?.asNumber(name)
  }

  public func bool(_ name: String) throws(ParserError) -> Bool {
    try value(name).asBool(name)
  }

  public func boolIfPresent(_ name: String) throws(ParserError) -> Bool? {
    try valueIfPresent(name)?.asBool(name)
  }

  public func array(_ name: String) throws(ParserError) -> [JSONValue] {
    try value(name).asArray(name)
  }

  public func arrayIfPresent(_ name: String) throws(ParserError) -> [JSONValue]? {
    try valueIfPresent(name)?.asArray(name)
  }

  /// The member made a model; what its ``Mappable/mapToModel(_:)`` throws, with the path to where it was thrown.
  public func model<Model: Mappable>(_ name: String, as type: Model.Type = Model.self) throws(ParserError) -> Model {
    try value(name).asModel(JSONPath([.init(name: name)]))
  }

  public func modelIfPresent<Model: Mappable>(
    _ name: String, as type: Model.Type = Model.self
  ) throws(ParserError) -> Model? {
    try valueIfPresent(name)?.asModel(JSONPath([.init(name: name)]))
  }

  /// The member's elements made models; the first bad one fails all.
  public func models<Model: Mappable>(_ name: String, as type: Model.Type = Model.self) throws(ParserError) -> [Model] {
    try value(name).asModels(name)
  }

  public func modelsIfPresent<Model: Mappable>(
    _ name: String, as type: Model.Type = Model.self
  ) throws(ParserError) -> [Model]? {
    try valueIfPresent(name)?.asModels(name)
  }
}

extension JSONValue {
  private func asString(_ name: String) throws(ParserError) -> String {
    guard case .string(let text) = self else { throw wrongType("a string", name) }
    return text
  }

  private func asInteger<Value: FixedWidthInteger>(_ name: String) throws(ParserError) -> Value {
    let exact: Value?
    switch self {
    case .integer(let number): exact = Value(exactly: number)
    case .unsigned(let number): exact = Value(exactly: number)
    // From 2⁵³ on, several numbers have one Double. Those that are integers of 64 bits were read as such.
    case .number(let number): exact = number.magnitude < 0x1p53 ? Value(exactly: number) : nil
    default: throw wrongType("an integer", name)
    }
    if let exact { return exact }
    throw ParserError(
      .unacceptable, codingPath: JSONPath([.init(name: name)]).text,
      expected: "expected an integer that fits \(Value.self), found another number")
  }

  private func asNumber(_ name: String) throws(ParserError) -> Double {
    switch self {
    case .integer(let number): return Double(number)
    case .unsigned(let number): return Double(number)
    case .number(let number): return number
    default: throw wrongType("a number", name)
    }
  }

  private func asBool(_ name: String) throws(ParserError) -> Bool {
    guard case .bool(let value) = self else { throw wrongType("a Boolean", name) }
    return value
  }

  private func asArray(_ name: String) throws(ParserError) -> [JSONValue] {
    guard case .array(let elements) = self else { throw wrongType("an array", name) }
    return elements
  }

  private func asModels<Model: Mappable>(_ name: String) throws(ParserError) -> [Model] {
    var models: [Model] = []
    for (index, element) in try asArray(name).enumerated() {
      models.append(try element.asModel(JSONPath([.init(name: name), .init(index: index)])))
    }
    return models
  }

  private func asModel<Model: Mappable>(_ path: JSONPath) throws(ParserError) -> Model {
    do {
      return try Model.mapToModel(self)
    } catch {
      throw ParserError(wrapping: error).inside(path)
    }
  }

  private func wrongType(_ expected: String, _ name: String) -> ParserError {
    ParserError(
      .wrongType, codingPath: JSONPath([.init(name: name)]).text, expected: "expected \(expected), found \(kindName)")
  }
}

extension ParserError {
  /// A `ParserError` as it is; any other error by its text.
  init(wrapping error: any Error) {
    self = error as? ParserError ?? ParserError(.unacceptable, expected: Redaction.describe(error))
  }

  /// The error as seen from a root that is `path` above.
  func inside(_ path: JSONPath) -> ParserError {
    var error = self
    let prefix = path.text
    if error.codingPath.isEmpty || prefix.isEmpty || error.codingPath.hasPrefix("[") {
      error.codingPath = prefix + error.codingPath
    } else {
      error.codingPath = "\(prefix).\(error.codingPath)"
    }
    return error
  }
}
