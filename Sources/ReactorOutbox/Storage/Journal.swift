import Foundation
import HTTPCaching

/// The format of a journal: a header, and a frame for each commit.
///
/// The header has, little-endian:
///
/// 1. the magic number, the number of the format, and the checksum of these two words
/// 2. the journal's generation, a random UUID, and the name of the scope
/// 3. the checksum of everything before
///
/// Its first three words keep their place in every future format. So a damaged number is never
/// mistaken for a newer format.
///
/// A frame has five words, the steps of one commit, and a mark that has no zero in it:
///
/// 1. a magic number
/// 2. the number of bytes of the steps
/// 3. the checksum of the steps
/// 4. the number of sectors in which steps and mark are all zeros. If a disk has not written a
///    sector, there is one more.
/// 5. the checksum of these words, of the frame's offset and of the scope
///
/// So a frame is valid only at its offset in its scope's journal, and is read whole or not at all.
enum Journal {
  static let formatVersion: UInt64 = 1
  private static let magic = UInt64(littleEndian: 0x0A4A_424F_5452_5889)  // 89 'X' 'R' 'T' 'O' 'B' 'J' 0A
  private static let frameMagic = UInt64(littleEndian: 0x0A46_424F_5452_5889)  // 89 'X' 'R' 'T' 'O' 'B' 'F' 0A
  static let frameMark = Array("\u{7}end".utf8)
  static let frameHead = 40
  /// The first bytes of every frame.
  static let frameStart: [UInt8] = withUnsafeBytes(of: frameMagic.littleEndian) { Array($0) }

  /// The unit that a disk writes whole or not at all.
  private static let sector = 512

  /// The start of a journal.
  enum Header: Equatable {
    case valid(generation: UUID, end: Int)
    case newerFormat
    case damaged
  }

  static func header(generation: UUID, scope: Scope) -> [UInt8] {
    var writer = RecordWriter()
    writer.write(magic)
    writer.write(formatVersion)
    writer.write(checksum(writer.bytes[...]))
    writer.write(generation)
    writer.write(scope.name)
    writer.write(checksum(writer.bytes[...]))
    return writer.bytes
  }

  /// Reads the header from the beginning of a journal. A header of another scope is damaged.
  static func readHeader(_ bytes: [UInt8], of scope: Scope) -> Header {
    do throws(Record.Failure) {
      var reader = RecordReader(bytes, bytes.indices)
      guard try reader.word() == magic else { return .damaged }
      let format = try reader.word()
      guard try reader.word() == checksum(bytes[..<16]) else { return .damaged }
      guard format <= formatVersion else { return .newerFormat }
      let generation = try reader.uuid()
      let expected = header(generation: generation, scope: scope)
      return bytes.starts(with: expected) ? .valid(generation: generation, end: expected.count) : .damaged
    } catch {
      return .damaged
    }
  }

  /// Returns the bytes of a frame at `offset`.
  static func frame(_ steps: [OutboxTable.Step], at offset: Int, of scope: Scope) -> [UInt8] {
    var content = RecordWriter(capacity: 256)
    for step in steps { step.write(to: &content) }
    let rest = content.bytes + frameMark
    var writer = RecordWriter(capacity: frameHead)
    writer.write(frameMagic)
    writer.write(UInt64(content.bytes.count))
    writer.write(checksum(content.bytes[...]))
    writer.write(UInt64(emptySectors(rest[...], at: offset + frameHead)))
    writer.write(seal(writer.bytes, offset, scope))
    return writer.bytes + rest
  }

  /// Returns the number of sectors whose part in `bytes` is all zeros.
  ///
  /// - Parameter offset: The offset of `bytes` in the journal.
  private static func emptySectors(_ bytes: ArraySlice<UInt8>, at offset: Int) -> Int {
    var (count, start) = (0, bytes.startIndex)
    while start < bytes.endIndex {
      let rest = sector - (offset + start - bytes.startIndex) % sector
      let end = min(bytes.endIndex, start + rest)
      if bytes[start..<end].allSatisfy({ $0 == 0 }) { count += 1 }
      start = end
    }
    return count
  }

  /// Reads the frame at an index of `bytes`.
  ///
  /// - Parameter base: The offset of `bytes` in the journal.
  /// - Returns: The steps and the index after the frame, or `nil` if there is no valid frame.
  static func readFrame(
    _ bytes: [UInt8], at index: Int, base: Int, of scope: Scope
  ) -> (steps: [OutboxTable.Step], end: Int)? {
    guard let length = head(bytes, at: index, base: base, of: scope)?.length else { return nil }
    let start = index + frameHead
    guard length <= bytes.count - start - frameMark.count else { return nil }
    do throws(Record.Failure) {
      var reader = RecordReader(bytes, index + 16..<start)
      guard try reader.word() == checksum(bytes[start..<start + length]) else { return nil }
      guard bytes[(start + length)...].starts(with: frameMark) else { return nil }
      var content = RecordReader(bytes, start..<start + length)
      var steps: [OutboxTable.Step] = []
      while !content.isAtEnd { steps.append(try OutboxTable.Step(&content)) }
      return (steps, start + length + frameMark.count)
    } catch {
      return nil
    }
  }

  /// Returns a Boolean value that indicates whether the bytes from `index` on are the start of a
  /// frame, or a frame with sectors that the disk has not written.
  ///
  /// - Parameter base: The offset of `bytes` in the journal.
  static func isUnfinished(_ bytes: [UInt8], at index: Int, base: Int, of scope: Scope) -> Bool {
    guard bytes.count - index >= frameHead else { return true }
    let start = index + frameHead
    guard let head = head(bytes, at: index, base: base, of: scope) else {
      // One of the head's own sectors was not written.
      let end = min(bytes.count, ((base + start - 1) / sector + 1) * sector - base)
      return emptySectors(bytes[index..<end], at: base + index) > 0
    }
    guard head.length <= bytes.count - start - frameMark.count else { return true }
    let rest = bytes[start..<start + head.length + frameMark.count]
    return emptySectors(rest, at: base + start) > head.emptySectors
  }

  /// Returns the words of the head of a frame, or `nil` if the head is not valid.
  private static func head(
    _ bytes: [UInt8], at index: Int, base: Int, of scope: Scope
  ) -> (length: Int, emptySectors: Int)? {
    guard bytes.count - index >= frameHead else { return nil }
    var reader = RecordReader(bytes, index..<index + frameHead)
    guard let first = try? reader.word(), first == frameMagic, let length = try? reader.word(),
      (try? reader.word()) != nil, let empty = try? reader.word(), let sum = try? reader.word(),
      sum == seal(Array(bytes[index..<index + frameHead - 8]), base + index, scope),
      let length = Int(exactly: length), let empty = Int(exactly: empty)
    else { return nil }
    return (length, empty)
  }

  private static func seal(_ words: [UInt8], _ offset: Int, _ scope: Scope) -> UInt64 {
    var writer = RecordWriter()
    writer.write(UInt64(offset))
    return checksum((words + writer.bytes + Array(scope.name.utf8))[...])
  }

  private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.withUnsafeBytes { XXHash64.hash($0) } }
}

/// A step as a kind and its members.
extension OutboxTable.Step {
  private enum Kind: Int {
    case put = 1
    case remove, identify, lease, release, next
  }

  fileprivate func write(to writer: inout RecordWriter) {
    switch self {
    case .put(let entry):
      writer.write(count: Kind.put.rawValue)
      writer.write(entry.id)
      writer.write(entry.number)
      writer.write(entry.lane)
      writer.write(entry.bytes)
    case .remove(let id):
      writer.write(count: Kind.remove.rawValue)
      writer.write(id)
    case .identify(let temporary, let id):
      writer.write(count: Kind.identify.rawValue)
      writer.write(temporary)
      writer.write(id)
    case .lease(let id, let lease):
      writer.write(count: Kind.lease.rawValue)
      writer.write(id)
      writer.write(lease.process)
      writer.write(lease.until)
    case .release(let id):
      writer.write(count: Kind.release.rawValue)
      writer.write(id)
    case .next(let number):
      writer.write(count: Kind.next.rawValue)
      writer.write(number)
    }
  }

  fileprivate init(_ reader: inout RecordReader) throws(Record.Failure) {
    guard let kind = Kind(rawValue: try reader.count()) else { throw .corrupt("it has an unknown step") }
    switch kind {
    case .put:
      let id = try reader.uuid()
      let number = try reader.number()
      self = .put(StoredEntry(id: id, number: number, lane: try reader.string(), bytes: Data(try reader.content())))
    case .remove: self = .remove(try reader.uuid())
    case .identify: self = .identify(try reader.string(), Data(try reader.content()))
    case .lease:
      self = .lease(try reader.uuid(), OutboxLease(process: try reader.uuid(), until: try reader.knownDate()))
    case .release: self = .release(try reader.uuid())
    case .next: self = .next(try reader.number())
    }
  }
}

extension RecordReader {
  /// Reads the number of an entry. The numbers of a journal never come near an overflow.
  fileprivate mutating func number() throws(Record.Failure) -> UInt64 {
    let number = try word()
    guard number <= UInt64(Int64.max) else { throw .corrupt("a number is out of range") }
    return number
  }
}
