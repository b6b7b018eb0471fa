/// Typed members of an object, for ``Mappable/mapToModel(_:)``.
///
/// Each method throws a ``ParserError`` that names the member, the expected type and the type
/// found. The `…IfPresent` variants return `nil` for a member that is missing or null, and throw
/// for a member of another type. A name names one member; it is not a path.
extension JSONValue {
  /// Returns the member with this name, which may be `.null`.
  ///
  /// The name names one member; it is not a path. For a path, use ``subscript(_:)``.
  /// - Throws: ``ParserError/Reason/missing`` if there is no such member, and
  ///   ``ParserError/Reason/wrongType`` if this value is not an object.
  public func value(_ name: String) throws(ParserError) -> JSONValue {
    guard case .object(let members) = self else {
      throw ParserError(.wrongType, expected: "expected an object, found \(kindName)")
    }
    guard let value = members[name] else {
      throw ParserError(.missing, codingPath: JSONPath([.init(name: name)]).text, expected: "expected a member \(name)")
    }
    return value
  }

  /// Returns the member with this name, or `nil` if it is missing or null.
  ///
  /// - Throws: ``ParserError/Reason/wrongType`` if this value is not an object.
  public func valueIfPresent(_ name: String) throws(ParserError) -> JSONValue? {
    guard case .object(let members) = self else {
      throw ParserError(.wrongType, expected: "expected an object, found \(kindName)")
    }
    guard let value = members[name], value != .null else { return nil }
    return value
  }

  /// Returns the member with this name as a string. Numbers and Booleans are not converted.
  ///
  /// ```swift
  /// let title = try json.string("title")
  /// ```
  ///
  /// - Throws: ``ParserError/Reason/missing`` if there is no such member, and
  ///   ``ParserError/Reason/wrongType`` if it is null or not a string, or this value is not an
  ///   object.
  public func string(_ name: String) throws(ParserError) -> String {
    try value(name).asString(name)
  }

  /// Returns the member with this name as a string, or `nil` if it is missing or null.
  ///
  /// ```swift
  /// let subtitle = try json.stringIfPresent("subtitle") ?? ""
  /// ```
  ///
  /// - Throws: ``ParserError/Reason/wrongType`` if the member is anything else but a string, or
  ///   this value is not an object.
  public func stringIfPresent(_ name: String) throws(ParserError) -> String? {
    try valueIfPresent(name)?.asString(name)
  }

  /// Returns the member with this name as an integer, without rounding.
  ///
  /// ```swift
  /// let id: Int = try json.integer("id")
  /// ```
  ///
  /// `1.0` and `1e2` are integers too.
  /// - Throws: ``ParserError/Reason/missing`` if there is no such member, and
  ///   ``ParserError/Reason/wrongType`` if it is null or not a number, or this value is not an
  ///   object. ``ParserError/Reason/unacceptable`` if the number has a fraction or does not fit
  ///   `Value`, or if it is a `.number` of magnitude 2⁵³ or more, which may have been rounded.
  public func integer<Value: FixedWidthInteger>(
    _ name: String, as type: Value.Type = Int.self
  ) throws(ParserError) -> Value {
    try value(name).asInteger(name)
  }

  /// Returns the member with this name as an integer, without rounding, or `nil` if it is missing
  /// or null.
  ///
  /// - Throws: ``ParserError/Reason/wrongType`` if the member is anything else but a number, or
  ///   this value is not an object. ``ParserError/Reason/unacceptable`` for a number that
  ///   ``integer(_:as:)`` does not accept.
  public func integerIfPresent<Value: FixedWidthInteger>(
    _ name: String, as type: Value.Type = Int.self
  ) throws(ParserError) -> Value? {
    try valueIfPresent(name)?.asInteger(name)
  }

  /// Returns the member with this name as the nearest `Double`.
  ///
  /// ```swift
  /// let price = try json.number("price")
  /// ```
  ///
  /// - Throws: ``ParserError/Reason/missing`` if there is no such member, and
  ///   ``ParserError/Reason/wrongType`` if it is null or not a number, or this value is not an
  ///   object.
  public func number(_ name: String) throws(ParserError) -> Double {
    try value(name).asNumber(name)
  }

  /// Returns the member with this name as the nearest `Double`, or `nil` if it is missing or null.
  ///
  /// - Throws: ``ParserError/Reason/wrongType`` if the member is anything else but a number, or
  ///   this value is not an object.
  public func numberIfPresent(_ name: String) throws(ParserError) -> Double? {
    try valueIfPresent(name)?.asNumber(name)
  }

  /// Returns the member with this name as a Boolean. Numbers such as 0 and 1 are not Booleans.
  ///
  /// - Throws: ``ParserError/Reason/missing`` if there is no such member, and
  ///   ``ParserError/Reason/wrongType`` if it is null or not a Boolean, or this value is not an
  ///   object.
  public func bool(_ name: String) throws(ParserError) -> Bool {
    try value(name).asBool(name)
  }

  /// Returns the member with this name as a Boolean, or `nil` if it is missing or null.
  ///
  /// - Throws: ``ParserError/Reason/wrongType`` if the member is anything else but a Boolean, or
  ///   this value is not an object.
  public func boolIfPresent(_ name: String) throws(ParserError) -> Bool? {
    try valueIfPresent(name)?.asBool(name)
  }

  /// Returns the elements of the member with this name, which must be an array.
  ///
  /// ```swift
  /// let tags = try json.array("tags")
  /// ```
  ///
  /// - Throws: ``ParserError/Reason/missing`` if there is no such member, and
  ///   ``ParserError/Reason/wrongType`` if it is null or not an array, or this value is not an
  ///   object.
  public func array(_ name: String) throws(ParserError) -> [JSONValue] {
    try value(name).asArray(name)
  }

  /// Returns the elements of the array with this name, or `nil` if the member is missing or null.
  ///
  /// ```swift
  /// let tags = try json.arrayIfPresent("tags") ?? []
  /// ```
  ///
  /// - Throws: ``ParserError/Reason/wrongType`` if the member is anything else but an array, or
  ///   this value is not an object.
  public func arrayIfPresent(_ name: String) throws(ParserError) -> [JSONValue]? {
    try valueIfPresent(name)?.asArray(name)
  }

  /// Returns the member with this name as a model. ``Mappable/mapToModel(_:)`` receives `.null` for
  /// a member that is null.
  ///
  /// ```swift
  /// let author: Author = try json.model("author")
  /// ```
  ///
  /// - Throws: ``ParserError/Reason/missing`` if there is no such member, and
  ///   ``ParserError/Reason/wrongType`` if this value is not an object. The errors of
  ///   ``Mappable/mapToModel(_:)`` are thrown with the member's name in front of their path. Errors
  ///   other than ``ParserError`` become ``ParserError/Reason/unacceptable``.
  public func model<Model: Mappable>(_ name: String, as type: Model.Type = Model.self) throws(ParserError) -> Model {
    try value(name).asModel(JSONPath([.init(name: name)]))
  }

  /// Returns the member with this name as a model, or `nil` if it is missing or null.
  ///
  /// - Throws: ``ParserError/Reason/wrongType`` if this value is not an object, and the errors of
  ///   ``Mappable/mapToModel(_:)``, as ``model(_:as:)`` does.
  public func modelIfPresent<Model: Mappable>(
    _ name: String, as type: Model.Type = Model.self
  ) throws(ParserError) -> Model? {
    try valueIfPresent(name)?.asModel(JSONPath([.init(name: name)]))
  }

  /// Returns the elements of the array with this name as models.
  ///
  /// ```swift
  /// let comments: [Comment] = try json.models("comments")
  /// ```
  ///
  /// Elements are not pruned: the first malformed one fails the whole array.
  /// - Throws: ``ParserError/Reason/missing`` if there is no such member, and
  ///   ``ParserError/Reason/wrongType`` if it is null or not an array, or this value is not an
  ///   object. The errors of ``Mappable/mapToModel(_:)`` are thrown with the member's name and the
  ///   element's index in front of their path.
  public func models<Model: Mappable>(_ name: String, as type: Model.Type = Model.self) throws(ParserError) -> [Model] {
    try value(name).asModels(name)
  }

  /// Returns the elements of the array with this name as models, or `nil` if the member is missing
  /// or null.
  ///
  /// - Throws: ``ParserError/Reason/wrongType`` if the member is anything else but an array, or
  ///   this value is not an object. The errors of the elements, as ``models(_:as:)`` does.
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
    // From 2⁵³ on, one Double stands for several integers. Parsing has read integers that fit 64
    // bits as `.integer` or `.unsigned`.
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
  /// Creates a copy of a `ParserError`, or an `.unacceptable` error with the description of any
  /// other.
  init(wrapping error: any Error) {
    self = error as? ParserError ?? ParserError(.unacceptable, expected: Redaction.describe(error))
  }

  /// Returns the error with `path` in front of its coding path.
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
