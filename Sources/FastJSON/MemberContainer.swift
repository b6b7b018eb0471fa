// The container of an object, which models read from.

import Foundation

extension CorePointer {
  /// Returns the value of the member for a key of this name; 0 if the object has no such member.
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

/// The members of an object.
///
/// One raw pointer, so that Swift's box copies it without counting references. It keeps nothing
/// alive: its creator does, as `ContainerPool.swift` says.
struct MemberContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let place: UnsafeMutablePointer<MemberPlace>

  @inline(__always) private var core: CorePointer { place.pointee.core }
  @inline(__always) private var object: TapeIndex { place.pointee.object }

  var codingPath: [any CodingKey] { core.path(of: object) }

  var allKeys: [Key] {
    if core.pointee.hasCustomKeys {
      return core.convertedNames(of: object).names.compactMap { Key(stringValue: $0) }
    }
    let tape = core.pointee.tape
    var keys: [Key] = []
    keys.reserveCapacity(tape.count(of: object))
    var seen: Set<String> = []
    let isUnique = tape[object] & Word.duplicates == 0
    for member in 0..<tape.count(of: object) {
      let name = tape.name(of: member, in: object)
      if isUnique || seen.insert(name).inserted, let key = Key(stringValue: name) { keys.append(key) }
    }
    return keys
  }

  // MARK: Look-up

  /// Returns the value of a member; 0 if the object has no such member.
  @inline(__always) private func find(_ key: some CodingKey) -> TapeIndex {
    let name = key.stringValue
    if core.pointee.hasCustomKeys { return core.convertedNames(of: object).find(name) }
    return core.find(name, in: object)
  }

  // The look-up is a separate function, since it is larger than the rest of a member, and there are
  // two members for each type of number.
  @inline(never) private func value(_ key: Key) throws -> TapeIndex {
    let index = find(key)
    if index == 0 { throw core.notFound(key, in: object) }
    return index
  }

  /// Returns the value of a member; 0 if the member is missing or null.
  @inline(never) private func valueIfPresent(_ key: Key) -> TapeIndex {
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
    return try core.decode(type, Position(index: index, container: object), key)
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
    return index == 0 ? nil : try core.decode(type, Position(index: index, container: object), key)
  }

  // MARK: Containers and decoders

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    let index = try value(key)
    return try core.container(keyedBy: type, Position(index: index, container: object))
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    let index = try value(key)
    return try ElementContainer(core.session, Position(index: index, container: object))
  }

  func superDecoder() throws -> any Decoder { decoder(PathKey(stringValue: "super")) }
  func superDecoder(forKey key: Key) throws -> any Decoder { decoder(key) }

  /// For null if there is no such member.
  private func decoder(_ key: some CodingKey) -> any Decoder {
    let index = find(key)
    guard index == 0 else {
      return TapeDecoder(session: core.session, position: Position(index: index, container: object))
    }
    return AbsentDecoder(
      codingPath: codingPath + [key], userInfo: core.pointee.strategies.options.userInfo,
      byteOffset: core.pointee.tape.offset(of: object))
  }
}
