// The decoding of each type, and the frames around it.

import Foundation

/// Types that the decoder makes by itself, and the rest.
enum Kind: TypeKind {
  case plain, date, data, url, decimal, strings, integers, doubles
  case collection(any FastCollection.Type)

  @inline(never) static func of(_ type: Any.Type) -> Kind {
    if type == Date.self {
      .date
    } else if type == Data.self {
      .data
    } else if type == URL.self {
      .url
    } else if type == Decimal.self {
      .decimal
    } else if type == [String].self {
      .strings
    } else if type == [Int].self {
      .integers
    } else if type == [Double].self {
      .doubles
    } else if let collection = type as? any FastCollection.Type {
      .collection(collection)
    } else {
      .plain
    }
  }
}

/// The kind of a type, which costs a few casts.
protocol TypeKind {
  static func of(_ type: Any.Type) -> Self
}

/// The kinds of types that were met: to ask whether a type conforms to a protocol takes longer than
/// to decode a number.
///
/// Two slots per hash: a type takes the first slot, the type that was there moves to the second,
/// and the second one's type is dropped.
struct KindTable<Kind: TypeKind> {
  private struct Slot {
    let type: ObjectIdentifier
    let kind: Kind
  }

  private let slots: UnsafeMutablePointer<Slot?>
  private static var count: Int { 256 }

  init() {
    slots = .allocate(capacity: Self.count)
    slots.initialize(repeating: nil, count: Self.count)
  }

  func deallocate() {
    slots.deinitialize(count: Self.count)
    slots.deallocate()
  }

  /// - Parameter isOver: nothing is written then, since two threads may ask.
  @inline(__always) func kind(of type: Any.Type, isOver: Bool) -> Kind {
    let identifier = ObjectIdentifier(type)
    let first = slots + identifier.hash(Self.count)
    if let slot = first.pointee, slot.type == identifier { return slot.kind }
    return otherKind(of: type, first, isOver: isOver)
  }

  @inline(never)
  private func otherKind(of type: Any.Type, _ first: UnsafeMutablePointer<Slot?>, isOver: Bool) -> Kind {
    let identifier = ObjectIdentifier(type)
    let second = slots + ((first - slots) ^ 1)
    if let slot = second.pointee, slot.type == identifier { return slot.kind }
    let kind = Kind.of(type)
    if !isOver {
      second.pointee = first.pointee
      first.pointee = Slot(type: identifier, kind: kind)
    }
    return kind
  }
}

extension ObjectIdentifier {
  /// Of a type: one of so many numbers, a power of two. Addresses of types end in zeros.
  @inline(__always) func hash(_ count: Int) -> Int {
    let mixed = UInt64(truncatingIfNeeded: Int(bitPattern: self)) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed >> 32) & (count &- 1)
  }
}

/// A collection whose elements the decoder reads in a loop, with the result of `init(from:)`.
protocol FastCollection {
  static func decode(_ core: CorePointer, _ value: Position) throws -> Self
}

extension CorePointer {
  @inline(__always) func decode<T: Decodable>(_ type: T.Type, _ value: Position) throws -> T {
    let kind = pointee.kinds.kind(of: type, isOver: pointee.isOver)
    guard case .plain = kind else { return try special(kind, type, value) }
    return try type.init(from: TapeDecoder(session: session, position: value))
  }

  @inline(never) func special<T: Decodable>(_ kind: Kind, _ type: T.Type, _ value: Position) throws -> T {
    switch kind {
    case .plain: try type.init(from: TapeDecoder(session: session, position: value))
    case .date: same(try date(value))
    case .data: same(try data(value))
    case .url: same(try url(value))
    case .decimal: same(try decimal(value))
    case .strings: same(try strings(value))
    case .integers: same(try integers(value))
    case .doubles: same(try doubles(value))
    case .collection(let collection): try decode(collection, as: type, value)
    }
  }

  private func decode<C: FastCollection, T>(_ collection: C.Type, as type: T.Type, _ value: Position) throws -> T {
    same(try C.decode(self, value))
  }

  /// The same value under the name of the type that it has: `T` is `Value`, by ``KindTable``.
  @inline(__always) func same<Value, T>(_ value: Value) -> T {
    withUnsafePointer(to: value) { UnsafeRawPointer($0).assumingMemoryBound(to: T.self).pointee }
  }

  /// Runs a program's closure that decodes one value, with a decoder for the value.
  func within<T>(_ value: Position, _ body: (any Decoder) throws -> T) throws -> T {
    try body(TapeDecoder(session: session, position: value))
  }

  /// Decodes a member.
  @inline(__always)
  func decode<T: Decodable>(_ type: T.Type, _ value: Position, _ key: some CodingKey) throws -> T {
    try withUnsafePointer(to: key) { key in
      // Once the decoding is over, nothing is written: two threads may have kept two containers.
      let isFramed = !pointee.isOver && pointee.frames.push(value.index, key)
      defer { if isFramed { pointee.frames.pop() } }
      return try decode(type, value)
    }
  }

  /// Decodes a member of a dictionary, whose names are never converted.
  @inline(__always) func decodeNamed<T: Decodable>(_ type: T.Type, _ value: Position) throws -> T {
    let isFramed = !pointee.isOver && pointee.frames.pushName(value.index)
    defer { if isFramed { pointee.frames.pop() } }
    return try decode(type, value)
  }
}

/// A decoder of one value, and its container of a single value.
struct TapeDecoder: Decoder {
  let session: Session
  let position: Position

  private var index: TapeIndex { position.index }
  var codingPath: [any CodingKey] { session.core.path(of: position) }
  var userInfo: [CodingUserInfoKey: Any] { session.core.pointee.strategies.options.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try session.core.container(keyedBy: type, position)
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try ElementContainer(session, position) }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
}

extension TapeDecoder: SingleValueDecodingContainer {
  private var place: Place { Place(position) }

  func decodeNil() -> Bool { session.core.isNull(index) }
  func decode(_ type: Bool.Type) throws -> Bool { try session.core.bool(index, place) }
  func decode(_ type: String.Type) throws -> String { try session.core.string(index, place) }
  func decode(_ type: Double.Type) throws -> Double { try session.core.double(index, place) }
  func decode(_ type: Float.Type) throws -> Float { try session.core.float(index, place) }
  func decode(_ type: Int.Type) throws -> Int { try session.core.integer(index, as: type, place) }
  func decode(_ type: Int8.Type) throws -> Int8 { try session.core.integer(index, as: type, place) }
  func decode(_ type: Int16.Type) throws -> Int16 { try session.core.integer(index, as: type, place) }
  func decode(_ type: Int32.Type) throws -> Int32 { try session.core.integer(index, as: type, place) }
  func decode(_ type: Int64.Type) throws -> Int64 { try session.core.integer(index, as: type, place) }
  func decode(_ type: Int128.Type) throws -> Int128 { try session.core.integer(index, as: type, place) }
  func decode(_ type: UInt.Type) throws -> UInt { try session.core.integer(index, as: type, place) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try session.core.integer(index, as: type, place) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try session.core.integer(index, as: type, place) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try session.core.integer(index, as: type, place) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try session.core.integer(index, as: type, place) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try session.core.integer(index, as: type, place) }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try session.core.decode(type, position) }
}

/// The decoder of a `super` that is not there: of null, at a path that no value has.
struct AbsentDecoder: Decoder, SingleValueDecodingContainer {
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any]

  /// The first byte of the object that has no such member.
  let byteOffset: Int

  private func missing(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "Expected \(type), found null.",
      underlyingError: FastJSONError(byteOffset: byteOffset, syntaxFault: nil))
    // Of a Boolean null is a mismatch of types, as with `JSONDecoder`.
    return type == Bool.self ? .typeMismatch(type, context) : .valueNotFound(type, context)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw missing([String: Any].self)
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw missing([Any].self) }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
  func decodeNil() -> Bool { true }
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    // Types whose decoder would only call this container again.
    if type is any BinaryInteger.Type || type is any BinaryFloatingPoint.Type || type == Bool.self
      || type == String.self
    {
      throw missing(type)
    }
    return try type.init(from: self)
  }
}
