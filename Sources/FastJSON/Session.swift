// One decoding: a text, its tape, and which members are being decoded.
//
// Decoders hold a session, which keeps the buffers alive for as long as a model keeps one of them;
// for keyed containers `ContainerPool.swift` says who does. All read through the session's pointer.
// One decoding at a time uses a session; once that is finished, only hints are written.

import Foundation
import Synchronization

/// The strategies of a decoder.
struct Options: Sendable {
  var dates = JSONDecoder.DateDecodingStrategy.deferredToDate
  var data = JSONDecoder.DataDecodingStrategy.base64
  var keys = JSONDecoder.KeyDecodingStrategy.useDefaultKeys
  var floats = JSONDecoder.NonConformingFloatDecodingStrategy.throw
  var userInfo: [CodingUserInfoKey: any Sendable] = [:]
  var allowsJSON5 = false
  var assumesTopLevelDictionary = false
}

/// The strategies of one call: a reference, since each call has them.
final class Strategies: Sendable {
  let options: Options
  let convertsSnakeCase: Bool
  let hasCustomKeys: Bool

  init(_ options: Options) {
    self.options = options
    convertsSnakeCase = if case .convertFromSnakeCase = options.keys { true } else { false }
    hasCustomKeys = if case .custom = options.keys { true } else { false }
  }

  /// The options of an unconfigured `JSONDecoder`.
  static let standard = Strategies(Options())
}

final class Session {
  /// Everything that changes, behind a pointer: reading it is not checked for exclusivity, and
  /// counts no reference.
  struct Core {
    /// The session of these fields, which are freed with it.
    let unretainedSession: Unmanaged<Session>
    var tape = Tape()
    var strategies = Strategies.standard
    var names: NameConversions?
    var frames = Frames(capacity: TapeParser.maximumDepth + 8)
    var pool: ContainerPool
    let kinds = KindTable<Kind>()
    /// Of ``FastJSONEncoder``.
    var encoded = EncodedTree()
    /// The decoding is finished. A model that still has a container can look up values, and no
    /// frame is pushed any more.
    var isOver = false
    /// By object, where the strategy of keys is the program's own.
    var converted: [TapeIndex: ConvertedNames] = [:]
    var hasCustomKeys = false
  }

  let core: UnsafeMutablePointer<Core>
  /// Of `SessionPool`: the bytes that it counts for this session.
  var restingSize = 0
  /// Of `KeptSessions`: the address of the session that was added before.
  var addedBefore: UInt = 0

  init() {
    core = .allocate(capacity: 1)
    core.initialize(to: Core(unretainedSession: Unmanaged.passUnretained(self), pool: ContainerPool(core)))
  }

  deinit {
    core.pointee.kinds.deallocate()
    core.pointee.encoded.deallocate()
    core.pointee.pool.deallocate()
    core.pointee.frames.deallocate()
    core.pointee.tape.deallocate()
    core.deinitialize(count: 1)
    core.deallocate()
  }
}

/// The fields of a session, whose holder keeps it alive.
typealias CorePointer = UnsafeMutablePointer<Session.Core>

extension CorePointer {
  var session: Session { pointee.unretainedSession.takeUnretainedValue() }
}

extension Session {
  /// Takes a copy of a text, and parses it.
  ///
  /// - Parameter keepsHalfPairs: a string with half of a surrogate pair makes its reader fail, and
  ///   not the text.
  func begin(
    _ bytes: UnsafeRawBufferPointer, _ strategies: Strategies, keepsHalfPairs: Bool = false
  ) throws(SyntaxFault) {
    core.pointee.strategies = strategies
    core.pointee.hasCustomKeys = strategies.hasCustomKeys
    if !core.pointee.converted.isEmpty { core.pointee.converted = [:] }
    core.pointee.pool.begin()
    core.pointee.tape.root = 1
    let converted = TextEncoding.utf8(of: bytes)
    guard converted?.count ?? bytes.count <= Self.maximumSize else {
      throw SyntaxFault(offset: Self.maximumSize, reason: "expected at most 1 GiB of text", kind: .size)
    }
    if let converted {
      converted.withUnsafeBytes { load($0) }
      core.pointee.tape.markCount = 0
    } else {
      let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
      load(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(mark)))
      core.pointee.tape.markCount = mark
    }
    core.pointee.names = strategies.convertsSnakeCase ? core.pointee.names ?? NameConversions() : nil
    core.pointee.names?.reset(behind: core.pointee.tape.textCount + Tape.padding)
    do throws(SyntaxFault) {
      try TapeParser.parse(&core.pointee.tape, names: &core.pointee.names, keepsHalfPairs: keepsHalfPairs)
    } catch {
      var fault = error
      fault.offset += core.pointee.tape.markCount
      throw fault
    }
  }

  /// Ends a call after which nothing is kept, and releases the program's objects.
  func rest() {
    core.pointee.strategies = .standard
    core.pointee.names?.clear()
    if !core.pointee.converted.isEmpty { core.pointee.converted = [:] }
    core.pointee.encoded.clear()
    restingSize = core.pointee.tape.size + core.pointee.encoded.size
  }

  /// Ends a session of which a model keeps a decoder or a container, before the model has it. The
  /// rest is only read, and no larger than the text and its tape.
  func end() {
    core.pointee.isOver = true
    core.pointee.frames.deallocate()
    core.pointee.frames = Frames(capacity: 0)
    core.pointee.tape.trim(toText: core.pointee.names?.end ?? core.pointee.tape.textCount + Tape.padding)
    core.pointee.names = nil
  }

  /// This keeps every index and offset within 32 bits.
  private static var maximumSize: Int { 1 << 30 }

  private func load(_ bytes: UnsafeRawBufferPointer) {
    let capacity = bytes.count + 2 * Tape.padding
    if core.pointee.tape.textCapacity < capacity {
      core.pointee.tape.text.deallocate()
      core.pointee.tape.text = .allocate(capacity: capacity)
      core.pointee.tape.textCapacity = capacity
    }
    let text = core.pointee.tape.text
    if let start = bytes.baseAddress { UnsafeMutableRawPointer(text).copyMemory(from: start, byteCount: bytes.count) }
    (text + bytes.count).update(repeating: 0, count: Tape.padding)
    core.pointee.tape.textCount = bytes.count
  }
}

/// Encodings that `JSONDecoder` knows beside UTF-8 (RFC 4627, section 3, and byte order marks).
enum TextEncoding {
  /// The text in UTF-8; `nil` where it is that, or none of them.
  static func utf8(of bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    // Most texts begin with two bytes of ASCII.
    if bytes.count >= 2, bytes[0] &- 1 < 0x7F, bytes[1] &- 1 < 0x7F, bytes.count < 3 || bytes[2] != 0 { return nil }
    guard let encoding = encoding(of: bytes), let text = String(data: Data(bytes), encoding: encoding) else {
      return nil
    }
    // A mark is not part of the text.
    return Array(text.utf8.starts(with: [0xEF, 0xBB, 0xBF]) ? text.utf8.dropFirst(3) : text.utf8[...])
  }

  private static func encoding(of bytes: UnsafeRawBufferPointer) -> String.Encoding? {
    if bytes.starts(with: [0x00, 0x00, 0xFE, 0xFF]) { return .utf32BigEndian }
    if bytes.starts(with: [0xFF, 0xFE, 0x00, 0x00]) { return .utf32LittleEndian }
    if bytes.starts(with: [0xFE, 0xFF]) { return .utf16BigEndian }
    if bytes.starts(with: [0xFF, 0xFE]) { return .utf16LittleEndian }
    let zeros = bytes.prefix(4).map { $0 == 0 }
    switch zeros {
    case [true, true, true, false]: return .utf32BigEndian
    case [false, true, true, true]: return .utf32LittleEndian
    case [true, false, true, false]: return .utf16BigEndian
    case [false, true, false, true]: return .utf16LittleEndian
    case [true, false]: return .utf16BigEndian
    case [false, true]: return .utf16LittleEndian
    default: return nil
    }
  }
}

extension CorePointer {
  @inline(__always)
  func container<Key: CodingKey>(keyedBy type: Key.Type, _ value: Position) throws -> KeyedDecodingContainer<Key> {
    let index = value.index
    guard word(index).is(.object) else { throw mismatch([String: Any].self, index, Place(value)) }
    guard !pointee.isOver else { return KeyedDecodingContainer(OwningContainer<Key>(session, index)) }
    return pointee.pool.container(keyedBy: type, self, index)
  }

  /// The names of an object, by the program's own strategy.
  func convertedNames(of object: TapeIndex) -> ConvertedNames {
    if let names = pointee.converted[object] { return names }
    guard case .custom(let convert) = pointee.strategies.options.keys else { return ConvertedNames() }
    let names = ConvertedNames(self, object, convert)
    if !pointee.isOver { pointee.converted[object] = names }
    return names
  }
}
