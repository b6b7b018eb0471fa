// The containers that models read from.

import Foundation

/// The names of an object as a program's own strategy converts them.
final class ConvertedNames {
  private var values: [String: TapeIndex] = [:]
  private(set) var names: [String] = []

  init() {}

  init(_ session: Session, _ object: TapeIndex, _ convert: ([any CodingKey]) -> any CodingKey) {
    let tape = session.core.pointee.tape
    let path = session.path(of: object)
    for member in 0..<tape.count(of: object) {
      let name = convert(path + [PathKey(stringValue: tape.name(of: member, in: object))]).stringValue
      // The first of equal names.
      if values[name] == nil {
        values[name] = tape.value(of: member, in: object)
        names.append(name)
      }
    }
  }

  func find(_ name: String) -> TapeIndex { values[name] ?? 0 }
}

extension UnsafeMutablePointer<Session.Core> {
  /// The value of the member that a key of this name asks for; 0 where there is none.
  @inline(__always) func find(_ name: String, in object: TapeIndex) -> TapeIndex {
    // A literal, as most names are, or a string in Swift's own storage.
    let found = name.utf8.withContiguousStorageIfAvailable { bytes -> TapeIndex in
      guard let start = bytes.baseAddress else { return findCopied(name, in: object) }
      return pointee.tape.find(NameBytes(start, bytes.count), in: object)
    }
    return found ?? findCopied(name, in: object)
  }

  @inline(never) private func findCopied(_ name: String, in object: TapeIndex) -> TapeIndex {
    let bytes = Array(name.utf8) + [0]
    return bytes.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return 0 }
      return pointee.tape.find(NameBytes(start, buffer.count - 1), in: object)
    }
  }
}

struct MemberContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  /// Keeps the text, and the place.
  let owner: ContainerOwner
  private let place: UnsafeMutablePointer<ContainerPlace>

  init(_ owner: ContainerOwner) {
    self.owner = owner
    place = owner.place
  }

  private var session: Session { owner.session }
  @inline(__always) private var core: UnsafeMutablePointer<Session.Core> { place.pointee.core }
  @inline(__always) private var object: TapeIndex { place.pointee.object }

  var codingPath: [any CodingKey] { session.path(of: object) }

  var allKeys: [Key] {
    if core.pointee.hasCustomKeys {
      return session.convertedNames(of: object).names.compactMap { Key(stringValue: $0) }
    }
    let tape = core.pointee.tape
    var keys: [Key] = []
    keys.reserveCapacity(tape.count(of: object))
    var seen: Set<String> = []
    let isUnique = tape[object] & (Word.duplicates | Word.anyNames) == 0
    for member in 0..<tape.count(of: object) {
      let name = tape.name(of: member, in: object)
      if isUnique || seen.insert(name).inserted, let key = Key(stringValue: name) { keys.append(key) }
    }
    return keys
  }

  // MARK: Look-up

  /// The value of a member; 0 where there is none.
  @inline(__always) private func find(_ key: some CodingKey) -> TapeIndex {
    let name = key.stringValue
    if core.pointee.hasCustomKeys { return session.convertedNames(of: object).find(name) }
    return core.find(name, in: object)
  }

  @inline(__always) private func value(_ key: Key) throws -> TapeIndex {
    let index = find(key)
    if index == 0 { throw core.notFound(key, in: object) }
    return index
  }

  /// 0 where there is none, or null.
  @inline(__always) private func valueIfPresent(_ key: Key) -> TapeIndex {
    let index = find(key)
    return core.isNull(index) ? 0 : index
  }

  func contains(_ key: Key) -> Bool { find(key) != 0 }
  func decodeNil(forKey key: Key) throws -> Bool { core.isNull(try value(key)) }

  // MARK: Values

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try core.bool(try value(key), Place(object, key))
  }
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try core.string(try value(key), Place(object, key))
  }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try core.double(try value(key), Place(object, key))
  }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try core.float(try value(key), Place(object, key))
  }
  @inline(__always) private func integer<T: FixedWidthInteger>(_ key: Key) throws -> T {
    try core.integer(try value(key), as: T.self, Place(object, key))
  }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(key) }
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(key) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(key) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(key) }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    let index = try value(key)
    return try session.decode(type, index, key)
  }

  // MARK: Values that may be absent

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    let index = valueIfPresent(key)
    return index == 0 ? nil : try core.bool(index, Place(object, key))
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    let index = valueIfPresent(key)
    return index == 0 ? nil : try core.string(index, Place(object, key))
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    let index = valueIfPresent(key)
    return index == 0 ? nil : try core.double(index, Place(object, key))
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    let index = valueIfPresent(key)
    return index == 0 ? nil : try core.float(index, Place(object, key))
  }
  @inline(__always) private func integerIfPresent<T: FixedWidthInteger>(_ key: Key) throws -> T? {
    let index = valueIfPresent(key)
    return index == 0 ? nil : try core.integer(index, as: T.self, Place(object, key))
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try integerIfPresent(key) }
  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try integerIfPresent(key) }
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    let index = valueIfPresent(key)
    return index == 0 ? nil : try session.decode(type, index, key)
  }

  // MARK: Containers and decoders

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    let index = try value(key)
    return try session.container(keyedBy: type, index)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    let index = try value(key)
    return try ElementContainer(session, index)
  }

  func superDecoder() throws -> any Decoder { decoder(PathKey(stringValue: "super")) }
  func superDecoder(forKey key: Key) throws -> any Decoder { decoder(key) }

  /// Of null where there is no such member.
  private func decoder(_ key: some CodingKey) -> any Decoder {
    let index = find(key)
    guard index == 0 else { return TapeDecoder(session: session, index: index) }
    return AbsentDecoder(
      codingPath: codingPath + [key], userInfo: session.core.pointee.strategies.options.userInfo,
      byteOffset: core.pointee.tape.offset(of: object))
  }
}

/// The elements of an array, one after the other. A failure does not pass the element.
struct ElementContainer: UnkeyedDecodingContainer {
  private let session: Session
  private let array: TapeIndex
  private var next: TapeIndex
  private var element: TapeIndex = 0

  init(_ session: Session, _ index: TapeIndex) throws {
    guard session.core.word(index).is(.array) else { throw session.core.mismatch([Any].self, index, Place(index)) }
    self.session = session
    array = index
    next = index + 2
  }

  private var tape: Tape { session.core.pointee.tape }
  var codingPath: [any CodingKey] { session.path(of: array) }
  var count: Int? { tape.count(of: array) }
  var currentIndex: Int { Int(element) }
  var isAtEnd: Bool { next >= tape.words[Int(array) + 1].lower }

  private var place: Place { Place(array, PathKey(index: currentIndex)) }

  /// Decodes the next element, and passes it.
  @inline(__always) private mutating func read<T>(_ type: T.Type, _ body: (Session, TapeIndex) throws -> T) throws -> T
  {
    guard !isAtEnd else { throw session.core.atEnd(type, of: array, currentIndex) }
    let value = try body(session, next)
    pass()
    return value
  }

  @inline(__always) private mutating func pass() {
    next = tape.end(of: next)
    element += 1
  }

  /// `nil` for null, which is passed, and at the end.
  private mutating func readIfPresent<T>(_ type: T.Type, _ body: (Session, TapeIndex) throws -> T) throws -> T? {
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
    let place = self
    return try read(type) { try $0.core.bool($1, place.place) }
  }
  mutating func decode(_ type: String.Type) throws -> String {
    let place = self
    return try read(type) { try $0.core.string($1, place.place) }
  }
  mutating func decode(_ type: Double.Type) throws -> Double {
    let place = self
    return try read(type) { try $0.core.double($1, place.place) }
  }
  mutating func decode(_ type: Float.Type) throws -> Float {
    let place = self
    return try read(type) { try $0.core.float($1, place.place) }
  }
  @inline(__always) private mutating func integer<T: FixedWidthInteger>() throws -> T {
    let place = self
    return try read(T.self) { try $0.core.integer($1, as: T.self, place.place) }
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
    let number = currentIndex
    return try read(type) { try $0.decode(type, $1, element: number) }
  }
  mutating func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
    let number = currentIndex
    return try readIfPresent(type) { try $0.decode(type, $1, element: number) }
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try read(KeyedDecodingContainer<Nested>.self) { try $0.container(keyedBy: type, $1) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try read((any UnkeyedDecodingContainer).self) { try ElementContainer($0, $1) }
  }

  mutating func superDecoder() throws -> any Decoder {
    try read((any Decoder).self) { TapeDecoder(session: $0, index: $1) }
  }
}

// MARK: Collections in loops of their own

extension Array: FastCollection where Element: Decodable {
  /// A model that throws in the middle leaves what was made before it to be released.
  static func decode(_ session: Session, _ index: TapeIndex) throws -> [Element] {
    let core = session.core
    guard core.word(index).is(.array) else { throw core.mismatch([Any].self, index, Place(index)) }
    switch session.kinds.kind(of: Element.self, isOver: core.pointee.isOver) {
    case .plain:
      return try elements(session, index) {
        $0.initialize(to: try Element(from: TapeDecoder(session: session, index: $1)))
      }
    // The element is an array of these, by ``KindTable``.
    case .doubles:
      return try elements(session, index) { place, index in
        UnsafeMutableRawPointer(place).assumingMemoryBound(to: [Double].self).initialize(to: try core.doubles(index))
      }
    case .integers:
      return try elements(session, index) { place, index in
        UnsafeMutableRawPointer(place).assumingMemoryBound(to: [Int].self).initialize(to: try core.integers(index))
      }
    case .strings:
      return try elements(session, index) { place, index in
        UnsafeMutableRawPointer(place).assumingMemoryBound(to: [String].self).initialize(to: try core.strings(index))
      }
    case let kind:
      return try elements(session, index) { $0.initialize(to: try session.special(kind, Element.self, $1)) }
    }
  }

  @inline(__always)
  private static func elements(
    _ session: Session, _ index: TapeIndex, _ make: (UnsafeMutablePointer<Element>, TapeIndex) throws -> Void
  ) throws -> [Element] {
    let core = session.core
    let count = core.pointee.tape.count(of: index)
    let isFramed = !core.pointee.isOver && core.pointee.frames.push(index, element: 0)
    defer { if isFramed { core.pointee.frames.pop() } }
    return try [Element](unsafeUninitializedCapacity: count) { buffer, initialized in
      guard let start = buffer.baseAddress else { return }
      var next = index + 2
      while initialized < count {
        if isFramed { core.pointee.frames.advance(to: next, element: initialized) }
        try make(start + initialized, next)
        initialized += 1
        next = core.pointee.tape.end(of: next)
      }
    }
  }
}

extension UnsafeMutablePointer<Session.Core> {
  func strings(_ index: TapeIndex) throws -> [String] { try scalars(index) { try string($0, $1()) } }
  func integers(_ index: TapeIndex) throws -> [Int] { try scalars(index) { try integer($0, as: Int.self, $1()) } }
  func doubles(_ index: TapeIndex) throws -> [Double] { try scalars(index) { try double($0, $1()) } }

  @inline(__always)
  private func scalars<Scalar>(
    _ index: TapeIndex, _ read: (TapeIndex, () -> Place) throws -> Scalar
  ) throws -> [Scalar] {
    guard word(index).is(.array) else { throw mismatch([Any].self, index, Place(index)) }
    let count = pointee.tape.count(of: index)
    return try [Scalar](unsafeUninitializedCapacity: count) { buffer, initialized in
      var next = index + 2
      while initialized < count {
        let element = initialized
        buffer.initializeElement(at: element, to: try read(next) { Place(index, PathKey(index: element)) })
        initialized += 1
        next = pointee.tape.end(of: next)
      }
    }
  }
}

extension Dictionary: FastCollection where Key == String, Value: Decodable {
  /// Names as they stand in the text, whatever the strategy of keys; of equal ones the first.
  static func decode(_ session: Session, _ index: TapeIndex) throws -> [String: Value] {
    guard session.core.word(index).is(.object) else {
      throw session.core.mismatch([String: Any].self, index, Place(index))
    }
    let tape = session.core.pointee.tape
    var values = [String: Value](minimumCapacity: tape.count(of: index))
    let isUnique = tape[index] & (Word.duplicates | Word.anyNames) == 0
    for member in 0..<tape.count(of: index) {
      let name = tape.name(of: member, in: index, isOriginal: true)
      let value = tape.value(of: member, in: index)
      if !isUnique, values[name] != nil { continue }
      values[name] = try session.decode(Value.self, value, PathKey(stringValue: name))
    }
    return values
  }
}
