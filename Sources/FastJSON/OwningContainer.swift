// The container of an object that keeps its session alive by itself.

import Foundation

/// The members of an object, and the session that they are read from.
///
/// For containers that are made when the session is over, or for which `ContainerPool` has no room.
struct OwningContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  /// The place of one container.
  private final class Owner {
    let session: Session
    let place: UnsafeMutablePointer<MemberPlace>

    init(_ session: Session, _ object: TapeIndex) {
      self.session = session
      place = .allocate(capacity: 1)
      place.initialize(to: MemberPlace(core: session.core, object: object))
    }

    deinit { place.deallocate() }
  }

  private let owner: Owner

  init(_ session: Session, _ object: TapeIndex) { owner = Owner(session, object) }

  @inline(__always) private func read<T>(_ body: (MemberContainer<Key>) throws -> T) rethrows -> T {
    try withExtendedLifetime(owner) { try body(MemberContainer(place: owner.place)) }
  }

  var codingPath: [any CodingKey] { read { $0.codingPath } }
  var allKeys: [Key] { read { $0.allKeys } }
  func contains(_ key: Key) -> Bool { read { $0.contains(key) } }
  func decodeNil(forKey key: Key) throws -> Bool { try read { try $0.decodeNil(forKey: key) } }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try read { try $0.decode(type, forKey: key) } }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try read { try $0.decode(type, forKey: key) }
  }
  // Every other `decodeIfPresent` is Swift's own, which calls `contains`, `decodeNil` and `decode`.
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try read { try $0.decode(type, forKey: key) }
  }
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    try read { try $0.decodeIfPresent(type, forKey: key) }
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try read { try $0.nestedContainer(keyedBy: type, forKey: key) }
  }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try read { try $0.nestedUnkeyedContainer(forKey: key) }
  }
  func superDecoder() throws -> any Decoder { try read { try $0.superDecoder() } }
  func superDecoder(forKey key: Key) throws -> any Decoder { try read { try $0.superDecoder(forKey: key) } }
}
