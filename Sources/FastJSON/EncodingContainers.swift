// The encoder and its containers: each is a place, and the session that has it.

/// An encoder of one value, its container of a single value, and an array's container.
struct ValueEncoder: Encoder, SingleValueEncodingContainer {
  let session: Session
  let node: Int
  var isArray = false

  private var core: CorePointer { session.core }
  var codingPath: [any CodingKey] { core.path(of: node) }
  var userInfo: [CodingUserInfoKey: Any] { core.pointee.encoded.strategies.options.userInfo }
  var count: Int { Int(core.pointee.encoded.nodes[node].count) }

  /// Keyed containers of one value are one object.
  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    _ = core.pointee.encoded.open(node, as: .object)
    return KeyedEncodingContainer(MemberEncoding<Key>(session: session, node: node))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    _ = core.pointee.encoded.open(node, as: .array)
    return ValueEncoder(session: session, node: node, isArray: true)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  @inline(__always) private func put(_ value: some JSONScalar) throws {
    if isArray { try core.encodeScalar(value, in: node) } else { try core.set(node, value) }
  }

  func encodeNil() throws { try put(JSONNull()) }
  func encode(_ value: Bool) throws { try put(value) }
  func encode(_ value: String) throws { try put(value) }
  func encode(_ value: Double) throws { try put(value) }
  func encode(_ value: Float) throws { try put(value) }
  func encode(_ value: Int) throws { try put(value) }
  func encode(_ value: Int8) throws { try put(value) }
  func encode(_ value: Int16) throws { try put(value) }
  func encode(_ value: Int32) throws { try put(value) }
  func encode(_ value: Int64) throws { try put(value) }
  func encode(_ value: Int128) throws { try put(value) }
  func encode(_ value: UInt) throws { try put(value) }
  func encode(_ value: UInt8) throws { try put(value) }
  func encode(_ value: UInt16) throws { try put(value) }
  func encode(_ value: UInt32) throws { try put(value) }
  func encode(_ value: UInt64) throws { try put(value) }
  func encode(_ value: UInt128) throws { try put(value) }
  func encode<T: Encodable>(_ value: T) throws {
    if isArray { return try core.encodeElement(value, in: node) }
    try core.encode(value, in: node)
    core.pointee.encoded.fillEmpty(node)
  }
}

extension ValueEncoder: UnkeyedEncodingContainer {
  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    nested().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }
  func superEncoder() -> any Encoder { nested() }

  private func nested() -> ValueEncoder {
    let nested = core.pointee.encoded.addNested(PathKey(index: count), in: node)
    core.pointee.encoded.link(.none, EncodedValue(node: nested), in: node)
    return ValueEncoder(session: session, node: nested)
  }
}

struct MemberEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let session: Session
  let node: Int

  private var core: CorePointer { session.core }
  var codingPath: [any CodingKey] { core.path(of: node) }

  func encodeNil(forKey key: Key) throws { try core.encodeScalar(JSONNull(), key, in: node) }
  func encode(_ value: Bool, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: String, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: Double, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: Float, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: Int, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: Int8, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: Int16, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: Int32, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: Int64, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: Int128, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: UInt, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: UInt8, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: UInt16, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: UInt32, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: UInt64, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode(_ value: UInt128, forKey key: Key) throws { try core.encodeScalar(value, key, in: node) }
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try core.encodeMember(value, key, named: nil, in: node)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    nested(key, mayReuse: true).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    nested(key, mayReuse: true).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { nested(PathKey(stringValue: "super"), mayReuse: false) }
  func superEncoder(forKey key: Key) -> any Encoder { nested(key, mayReuse: false) }

  private func nested(_ key: some CodingKey, mayReuse: Bool) -> ValueEncoder {
    let name = core.converted(key, in: node)
    let nested = core.pointee.encoded.nested(key, named: name, in: node, mayReuse: mayReuse)
    return ValueEncoder(session: session, node: nested)
  }
}
