// The container of an array, which models read from.

import Foundation

/// The elements of an array, one after the other. A failure does not pass the element.
struct ElementContainer: UnkeyedDecodingContainer {
  private let session: Session
  private let array: TapeIndex
  private var next: TapeIndex
  private var element: TapeIndex = 0

  init(_ session: Session, _ value: Position) throws {
    let index = value.index
    guard session.core.word(index).is(.array) else { throw session.core.mismatch([Any].self, index, Place(value)) }
    self.session = session
    array = index
    next = index + 2
  }

  private var tape: Tape { session.core.pointee.tape }
  var codingPath: [any CodingKey] { session.core.path(of: array) }
  var count: Int? { tape.count(of: array) }
  var currentIndex: Int { Int(element) }
  var isAtEnd: Bool { currentIndex >= tape.count(of: array) }

  private var position: Position { Position(index: next, container: array, element: element) }

  /// Decodes the next element, and passes it.
  @inline(__always) private mutating func read<T>(_ type: T.Type, _ body: (CorePointer, Position) throws -> T) throws
    -> T
  {
    guard !isAtEnd else { throw session.core.atEnd(type, of: array, currentIndex) }
    let value = try body(session.core, position)
    pass()
    return value
  }

  @inline(__always) private mutating func pass() {
    next = tape.end(of: next)
    element += 1
  }

  /// `nil` for null, which is passed, and at the end.
  private mutating func readIfPresent<T>(_ type: T.Type, _ body: (CorePointer, Position) throws -> T) throws -> T? {
    guard !isAtEnd else { return nil }
    if try decodeNil() { return nil }
    return try read(type, body)
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd else { throw session.core.atEnd(Never.self, of: array, currentIndex) }
    guard session.core.isNull(next) else { return false }
    pass()
    return true
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool {
    try read(type) { try $0.bool($1.index, Place($1)) }
  }
  mutating func decode(_ type: String.Type) throws -> String {
    try read(type) { try $0.string($1.index, Place($1)) }
  }
  mutating func decode(_ type: Double.Type) throws -> Double {
    try read(type) { try $0.double($1.index, Place($1)) }
  }
  mutating func decode(_ type: Float.Type) throws -> Float {
    try read(type) { try $0.float($1.index, Place($1)) }
  }
  @inline(__always) private mutating func integer<T: FixedWidthInteger>() throws -> T {
    try read(T.self) { try $0.integer($1.index, as: T.self, Place($1)) }
  }
  mutating func decode(_ type: Int.Type) throws -> Int { try integer() }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
  mutating func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try integer() }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try read(type) { try $0.decode(type, $1) }
  }
  mutating func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
    try readIfPresent(type) { try $0.decode(type, $1) }
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try read(KeyedDecodingContainer<Nested>.self) { try $0.container(keyedBy: type, $1) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try read((any UnkeyedDecodingContainer).self) { try ElementContainer($0.session, $1) }
  }

  mutating func superDecoder() throws -> any Decoder {
    try read((any Decoder).self) { TapeDecoder(session: $0.session, position: $1) }
  }
}
