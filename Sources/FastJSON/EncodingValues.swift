// The encoding of each type.

import Foundation

/// A value that JSON writes as one token.
protocol JSONScalar: Encodable {
  /// - Throws: the error of a number that is not finite.
  func check(_ core: CorePointer, _ path: () -> [any CodingKey]) throws
  func write(to core: CorePointer)
}

extension JSONScalar {
  @inline(__always) func check(_ core: CorePointer, _ path: () -> [any CodingKey]) throws {}
}

extension JSONScalar where Self: FixedWidthInteger {
  @inline(__always) func write(to core: CorePointer) { core.pointee.encoded.bytes.write(integer: self) }
}

extension JSONScalar where Self: BinaryFloatingPoint & CustomStringConvertible {
  @inline(__always) func check(_ core: CorePointer, _ path: () -> [any CodingKey]) throws {
    if !isFinite { try core.checkNonConforming(self, path) }
  }

  @inline(__always) func write(to core: CorePointer) {
    if isFinite { core.pointee.encoded.bytes.write(float: self) } else { core.writeNonConforming(self) }
  }
}

extension Int: JSONScalar {}
extension Int8: JSONScalar {}
extension Int16: JSONScalar {}
extension Int32: JSONScalar {}
extension Int64: JSONScalar {}
extension Int128: JSONScalar {}
extension UInt: JSONScalar {}
extension UInt8: JSONScalar {}
extension UInt16: JSONScalar {}
extension UInt32: JSONScalar {}
extension UInt64: JSONScalar {}
extension UInt128: JSONScalar {}
extension Float: JSONScalar {}
extension Double: JSONScalar {}

struct JSONNull: JSONScalar {
  func encode(to encoder: any Encoder) throws {}
  @inline(__always) func write(to core: CorePointer) { core.pointee.encoded.bytes.write("null") }
}

extension Bool: JSONScalar {
  @inline(__always) func write(to core: CorePointer) { core.pointee.encoded.bytes.write(self ? "true" : "false") }
}

extension String: JSONScalar {
  @inline(__always) func write(to core: CorePointer) {
    _ = core.pointee.encoded.bytes.write(self, escapesSlashes: core.pointee.encoded.escapesSlashes)
  }
}

/// Types that the encoder writes by itself, and the rest.
enum EncodingKind: TypeKind {
  case plain, date, data, url, decimal
  case scalar(any JSONScalar.Type)
  case collection(any EncodedCollection.Type)

  static func of(_ type: Any.Type) -> EncodingKind {
    if type == Date.self { return .date }
    if type == Data.self { return .data }
    if type == URL.self { return .url }
    if type == Decimal.self { return .decimal }
    if let scalar = type as? any JSONScalar.Type { return .scalar(scalar) }
    if let collection = type as? any EncodedCollection.Type { return .collection(collection) }
    return .plain
  }
}

/// A collection whose elements the encoder writes in a loop, as its `encode(to:)` would.
protocol EncodedCollection {
  func fill(_ node: Int, _ core: CorePointer) throws
}

extension Array: EncodedCollection where Element: Encodable {
  func fill(_ node: Int, _ core: CorePointer) throws {
    // The usual ones are specialized.
    if Element.self == String.self { return try core.fill(node, scalars: core.same(self) as [String]) }
    if Element.self == Int.self { return try core.fill(node, scalars: core.same(self) as [Int]) }
    if Element.self == Double.self { return try core.fill(node, scalars: core.same(self) as [Double]) }
    if case .scalar(let scalar) = core.encodingKind(of: Element.self) { return try core.fill(node, self, of: scalar) }
    guard core.pointee.encoded.open(node, as: .array) else { return }
    for element in self { try core.encodeElement(element, in: node) }
  }
}

extension Dictionary: EncodedCollection where Key == String, Value: Encodable {
  /// Names as they are, whatever the key strategy.
  func fill(_ node: Int, _ core: CorePointer) throws {
    guard core.pointee.encoded.open(node, as: .object) else { return }
    let isNew = core.pointee.encoded.nodes[node].count == 0
    for (name, value) in self { try core.encodeMember(value, PathKey(stringValue: name), named: name, in: node) }
    if isNew { core.pointee.encoded.nodes.start[node].mayRepeat = false }
  }
}

extension CorePointer {
  @inline(__always) func encodingKind(of type: any Encodable.Type) -> EncodingKind {
    pointee.encoded.kinds.kind(of: type, isOver: pointee.isOver)
  }

  // MARK: Places

  /// Encodes a value in a place: the whole text, or one for which an `Encoder` was made.
  func encode<T: Encodable>(_ value: T, in node: Int) throws {
    switch encodingKind(of: T.self) {
    case .plain: try call(value, in: node) { try value.encode(to: $0) }
    case .scalar(let type): try scalar(type, value, in: node)
    case .date: try encode(date: same(value), in: node)
    case .data: try encode(data: same(value), in: node)
    case .url: set(node) { _ = $0.write((same(value) as URL).absoluteString, escapesSlashes: $1) }
    case .decimal:
      let decimal: Decimal = same(value)
      guard decimal.isFinite else { throw invalid(decimal, "Unable to encode Decimal.nan in JSON.", path(of: node)) }
      set(node) { bytes, _ in bytes.write(plain: decimal.description) }
    case .collection(let type): try fill(type, value, node)
    }
  }

  private func fill<C: EncodedCollection, T>(_ type: C.Type, _ value: T, _ node: Int) throws {
    try call(value, in: node) { _ in try (same(value) as C).fill(node, self) }
  }

  private func scalar<S: JSONScalar, T>(_ type: S.Type, _ value: T, in node: Int) throws {
    try set(node, same(value) as S)
  }

  /// Writes a scalar, unless the place has an array or an object already, as with `JSONEncoder`.
  @inline(__always) func set(_ node: Int, _ scalar: some JSONScalar) throws {
    try scalar.check(self) { path(of: node) }
    let start = pointee.encoded.bytes.count
    scalar.write(to: self)
    set(node, from: start)
  }

  @inline(__always) func set(_ node: Int, _ write: (inout Growing<UInt8>, Bool) -> Void) {
    let start = pointee.encoded.bytes.count
    write(&pointee.encoded.bytes, pointee.encoded.escapesSlashes)
    set(node, from: start)
  }

  private func set(_ node: Int, from start: Int) {
    let place = pointee.encoded.nodes.start + node
    if place.pointee.kind == .array || place.pointee.kind == .object { return }
    guard place.pointee.kind == .empty else {
      pointee.encoded.fault = "Two values were encoded in one place."
      return
    }
    place.pointee.kind = .scalar
    place.pointee.value = EncodedValue(from: start, to: pointee.encoded.bytes.count)
  }

  /// Calls a program's code that encodes a value, unless too many such calls are around it.
  @inline(__always) private func call(_ value: Any, in node: Int, _ body: (ValueEncoder) throws -> Void) throws {
    guard pointee.encoded.calls < EncodedTree.maximumCalls, pointee.encoded.fault == nil else {
      let fault = pointee.encoded.fault ?? EncodedTree.depthFault
      pointee.encoded.fault = fault
      throw invalid(value, fault, path(of: node))
    }
    pointee.encoded.nodes.start[node].isShared = true
    pointee.encoded.calls &+= 1
    defer { pointee.encoded.calls &-= 1 }
    try body(ValueEncoder(session: session, node: node))
  }

  // MARK: Members and elements

  @inline(__always) func encodeMember<T: Encodable>(
    _ value: T, _ key: some CodingKey, named name: String?, in node: Int
  ) throws {
    let encoded = try withUnsafePointer(to: key) { try child(value, at: $0, index: 0, in: node) }
    let name = pointee.encoded.writeName(name ?? converted(key, in: node), in: node)
    pointee.encoded.link(name.range, encoded, in: node)
  }

  @inline(__always) func encodeElement<T: Encodable>(_ value: T, in node: Int) throws {
    let index = Int(pointee.encoded.nodes[node].count)
    let encoded = try child(value, at: nil as UnsafePointer<PathKey>?, index: index, in: node)
    pointee.encoded.link(.none, encoded, in: node)
  }

  /// Encodes a value that belongs into an array or an object, where it is entered afterwards: it is
  /// not, if there is an error.
  @inline(__always) private func child<T: Encodable, Key: CodingKey>(
    _ value: T, at key: UnsafePointer<Key>?, index: Int, in container: Int
  ) throws -> EncodedValue {
    pointee.encoded.frames.append(
      EncodingFrame(
        keyAddress: key, keyType: Key.self, index: index, nested: pointee.encoded.nodes[container].nested))
    defer { pointee.encoded.frames.cut(to: pointee.encoded.frames.count &- 1) }
    let node = pointee.encoded.addNode(in: container, level: pointee.encoded.frames.count)
    try encode(value, in: node)
    return pointee.encoded.settle(node)
  }

  /// - Parameter path: of the container.
  @inline(__always) func encodeScalar(_ value: some JSONScalar, _ key: some CodingKey, in node: Int) throws {
    try value.check(self) { path(of: node) + [key] }
    let name = pointee.encoded.writeName(converted(key, in: node), in: node)
    let start = pointee.encoded.bytes.count
    value.write(to: self)
    pointee.encoded.link(name.range, EncodedValue(from: start, to: pointee.encoded.bytes.count), in: node)
  }

  @inline(__always) func encodeScalar(_ value: some JSONScalar, in node: Int) throws {
    try value.check(self) { path(of: node) + [PathKey(index: Int(pointee.encoded.nodes[node].count))] }
    let start = pointee.encoded.bytes.count
    value.write(to: self)
    pointee.encoded.link(.none, EncodedValue(from: start, to: pointee.encoded.bytes.count), in: node)
  }

  func fill<S: JSONScalar, T>(_ node: Int, _ elements: [T], of type: S.Type) throws {
    try fill(node, scalars: same(elements) as [S])
  }

  func fill<S: JSONScalar>(_ node: Int, scalars: [S]) throws {
    if pointee.encoded.isPretty || pointee.encoded.nodes[node].kind != .empty {
      guard pointee.encoded.open(node, as: .array) else { return }
      for scalar in scalars { try encodeScalar(scalar, in: node) }
      return
    }
    if pointee.encoded.nodes[node].depth >= EncodedTree.maximumDepth { pointee.encoded.fault = EncodedTree.depthFault }
    let start = pointee.encoded.bytes.count
    for (index, scalar) in scalars.enumerated() {
      try scalar.check(self) { path(of: node) + [PathKey(index: index)] }
      pointee.encoded.bytes.append(UInt8(ascii: ","))
      scalar.write(to: self)
    }
    if scalars.isEmpty { pointee.encoded.bytes.append(UInt8(ascii: ",")) }
    pointee.encoded.bytes[start] = UInt8(ascii: "[")
    pointee.encoded.bytes.append(UInt8(ascii: "]"))
    set(node, from: start)
  }
}

// MARK: Strategies

extension CorePointer {
  private func encode(date: Date, in node: Int) throws {
    switch pointee.encoded.strategies.options.dates {
    case .deferredToDate: try set(node, date.timeIntervalSinceReferenceDate)
    case .secondsSince1970: try set(node, number: date.timeIntervalSince1970)
    case .millisecondsSince1970: try set(node, number: 1_000 * date.timeIntervalSince1970)
    case .iso8601:
      let start = pointee.encoded.bytes.count
      if ISO8601Date.write(date, to: &pointee.encoded.bytes) { return set(node, from: start) }
      set(node) { _ = $0.write(date.formatted(.iso8601), escapesSlashes: $1) }
    #if canImport(Darwin)
      case .formatted(let formatter): try set(node, formatter.string(from: date))
    #endif
    case .custom(let encode):
      try call(date, in: node) { try encode(date, $0) }
      pointee.encoded.fillEmpty(node)
    @unknown default:
      throw invalid(date, "FastJSONEncoder does not support this strategy for dates; use JSONEncoder.", path(of: node))
    }
  }

  /// Seconds, for which the strategy for numbers that are not finite does not count.
  private func set(_ node: Int, number: Double) throws {
    guard number.isFinite else { throw nonConforming(number, path(of: node)) }
    try set(node, number)
  }

  private func encode(data: Data, in node: Int) throws {
    switch pointee.encoded.strategies.options.data {
    case .deferredToData: try call(data, in: node) { try data.encode(to: $0) }
    case .base64: try set(node, data.base64EncodedString())
    case .custom(let encode):
      try call(data, in: node) { try encode(data, $0) }
      pointee.encoded.fillEmpty(node)
    @unknown default:
      throw invalid(data, "FastJSONEncoder does not support this strategy for data; use JSONEncoder.", path(of: node))
    }
  }

  @inline(never) func checkNonConforming<T: BinaryFloatingPoint>(
    _ value: T, _ path: () -> [any CodingKey]
  ) throws {
    if case .throw = pointee.encoded.strategies.options.floats { throw nonConforming(value, path()) }
  }

  @inline(never) func writeNonConforming(_ value: some BinaryFloatingPoint) {
    guard case .convertToString(let positive, let negative, let nan) = pointee.encoded.strategies.options.floats
    else { return }
    (value.isNaN ? nan : value > 0 ? positive : negative).write(to: self)
  }

  private func nonConforming<T: BinaryFloatingPoint>(_ value: T, _ path: [any CodingKey]) -> EncodingError {
    invalid(value, "Unable to encode \(T.self).\(value) directly in JSON.", path)
  }

  private func invalid(_ value: Any, _ reason: String, _ path: [any CodingKey]) -> EncodingError {
    .invalidValue(value, EncodingError.Context(codingPath: path, debugDescription: reason))
  }

  // MARK: Names

  @inline(__always) func converted(_ key: some CodingKey, in node: Int) -> String {
    pointee.encoded.convertsNames ? convertedSlowly(key, in: node) : key.stringValue
  }

  @inline(never) private func convertedSlowly(_ key: some CodingKey, in node: Int) -> String {
    switch pointee.encoded.strategies.options.keys {
    case .useDefaultKeys: return key.stringValue
    case .convertToSnakeCase: return pointee.encoded.snakeCased(key.stringValue)
    case .custom(let convert): return convert(path(of: node) + [key]).stringValue
    @unknown default: return key.stringValue
    }
  }

  // MARK: Paths

  /// The keys around a place.
  func path(of node: Int) -> [any CodingKey] {
    guard node < pointee.encoded.nodes.count else { return [] }
    let (level, nested) = (pointee.encoded.nodes[node].level, pointee.encoded.nodes[node].nested)
    var path: [any CodingKey] = []
    for index in 0..<min(Int(level), pointee.encoded.frames.count) {
      let frame = pointee.encoded.frames[index]
      path += nestedPath(frame.nested)
      path.append(frame.key)
    }
    return path + nestedPath(nested)
  }

  private func nestedPath(_ nested: Int32) -> [any CodingKey] {
    guard nested >= 0 else { return [] }
    let key = pointee.encoded.nestedKeys[Int(nested)]
    return nestedPath(key.outer) + [key.key]
  }
}
