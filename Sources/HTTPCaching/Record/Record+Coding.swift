public import Foundation
import HTTPTypes

extension Record {
  /// Returns the whole record as bytes, for a ``Persistence`` that stores bytes.
  ///
  /// ```swift
  /// try record.encoded().write(to: file)
  /// let again = try Record(encoded: Data(contentsOf: file))
  /// ```
  ///
  /// The bytes begin with a magic number, the number of the format, and checksums. They include the
  /// list of the URL's other variants, which no public property shows. Every later release reads
  /// them. <doc:BytesOfRecords> describes each byte.
  public func encoded() -> Data { Data(RecordCodec.encodeHead(of: self)) + body }

  /// Reads the bytes that ``encoded()`` returned.
  ///
  /// ```swift
  /// do {
  ///   let record = try Record(encoded: Data(contentsOf: file))
  ///   show(record.body)
  /// } catch Record.Failure.newerFormat {
  ///   report("a newer release wrote \(file)")  // keep the file
  /// }
  /// ```
  ///
  /// - Throws: ``Record/Failure/truncated`` or ``Record/Failure/corrupt(_:)`` for bytes that are
  ///   damaged or not a record's; ``Record/Failure/newerFormat(_:)`` for a record of a newer
  ///   release, which a store must not remove.
  public init(encoded: Data) throws(Record.Failure) { self = try RecordCodec.decode([UInt8](encoded)) }
}

/// The format of a record: a prefix of 48 bytes, the head, and the body unchanged.
///
/// The prefix has six words of eight bytes, little-endian:
///
/// 1. the magic number
/// 2. the checksum of everything after this word and before the body
/// 3. the number of the format
/// 4. the length of the head
/// 5. the length of the body
/// 6. the checksum of the body
///
/// So the head can be verified without the body. The magic number and the format keep their place
/// in every future format.
package enum RecordCodec {
  static let formatVersion: UInt64 = 1
  package static let prefixLength = 48
  private static let magic = UInt64(littleEndian: 0x0A44_5243_5452_5889)  // 89 'X' 'R' 'T' 'C' 'R' 'D' 0A

  /// The lengths of the parts, and the expected checksum of the body.
  package struct Layout: Equatable {
    var headLength: Int
    var bodyLength: Int
    var bodyChecksum: UInt64

    package var bodyOffset: Int { prefixLength + headLength }
    var count: Int { bodyOffset + bodyLength }
  }

  /// Returns the prefix and the head. The body follows them in a record.
  package static func encodeHead(of record: Record) -> [UInt8] {
    var writer = RecordWriter(capacity: 512)
    for word in [magic, 0, formatVersion, 0, UInt64(record.body.count)] { writer.write(word) }
    writer.write(record.body.withUnsafeBytes { XXHash64.hash($0) })
    write(record.head, to: &writer)
    writer.write(UInt64(writer.bytes.count - prefixLength), at: 3 * 8)
    writer.write(writer.bytes.withUnsafeBytes { XXHash64.hash(UnsafeRawBufferPointer(rebasing: $0[16...])) }, at: 8)
    return writer.bytes
  }

  /// Reads the prefix of a record.
  ///
  /// - Parameters:
  ///   - bytes: The beginning of the record, at least ``prefixLength`` bytes of it. A shorter
  ///     record is truncated.
  ///   - count: The size of the whole record in bytes. It must agree with the prefix.
  /// - Throws: ``Record/Failure``.
  package static func layout(of bytes: [UInt8], count: Int) throws(Record.Failure) -> Layout {
    var reader = RecordReader(bytes, bytes.indices)
    guard try reader.word() == magic else { throw .corrupt("it does not start like a record") }
    _ = try reader.word()
    let format = try reader.word()
    guard format <= formatVersion else { throw .newerFormat(format) }
    guard format == formatVersion else { throw .corrupt("its format \(format) does not exist") }
    let lengths = (try reader.word(), try reader.word())
    let bodyChecksum = try reader.word()
    guard let headLength = Int(exactly: lengths.0), let bodyLength = Int(exactly: lengths.1),
      case let (sum, overflow) = headLength.addingReportingOverflow(bodyLength), !overflow, sum < .max - prefixLength
    else { throw .corrupt("one of its lengths is out of range") }
    let layout = Layout(headLength: headLength, bodyLength: bodyLength, bodyChecksum: bodyChecksum)
    guard count >= layout.count else { throw .truncated }
    guard count == layout.count else { throw .corrupt("\(count - layout.count) bytes follow its end") }
    return layout
  }

  /// Decodes the head from at least the first `layout.bodyOffset` bytes of a record.
  package static func decodeHead(_ bytes: [UInt8], _ layout: Layout) throws(Record.Failure) -> Record.Head {
    guard bytes.count >= layout.bodyOffset else { throw .truncated }
    var stored = RecordReader(bytes, 8..<16)
    let checksum = bytes.withUnsafeBytes { XXHash64.hash(UnsafeRawBufferPointer(rebasing: $0[16..<layout.bodyOffset])) }
    guard try stored.word() == checksum else { throw .corrupt("the head's checksum is wrong") }
    var reader = RecordReader(bytes, prefixLength..<layout.bodyOffset)
    let head = try decodeHead(&reader)
    guard reader.isAtEnd else { throw .corrupt("bytes follow the last field of the head") }
    return head
  }

  /// Verifies the length and the checksum of a body.
  package static func check(body: Data, _ layout: Layout) throws(Record.Failure) {
    guard body.count == layout.bodyLength else { throw .truncated }
    guard body.withUnsafeBytes({ XXHash64.hash($0) }) == layout.bodyChecksum else {
      throw .corrupt("the body's checksum is wrong")
    }
  }

  /// Decodes a record whose head and body are stored apart; ``encodeHead(of:)`` returned the head.
  package static func decode(head: Data, body: Data) throws(Record.Failure) -> Record {
    let bytes = [UInt8](head)
    let layout = try layout(of: bytes, count: bytes.count + body.count)
    guard layout.bodyOffset == bytes.count else { throw .corrupt("the head differs from its stated length") }
    let head = try decodeHead(bytes, layout)
    try check(body: body, layout)
    return Record(head: head, body: body)
  }

  /// Decodes a whole record. ``FilePersistence`` does the same in two reads.
  static func decode(_ bytes: [UInt8]) throws(Record.Failure) -> Record {
    let layout = try layout(of: bytes, count: bytes.count)
    let head = try decodeHead(bytes, layout)
    let body = Data(bytes[layout.bodyOffset...])
    try check(body: body, layout)
    return Record(head: head, body: body)
  }
}

/// The members of the head in the order of their declaration. The fields come last, in their order
/// and with duplicates.
extension RecordCodec {
  private static func write(_ head: Record.Head, to writer: inout RecordWriter) {
    writer.write(head.identity)
    writer.write(count: head.status.code)
    writer.write(head.status.reasonPhrase)
    writer.write(head.requestedAt)
    writer.write(head.receivedAt)
    writer.write(head.invalidatedAt) { $0.write($1) }
    writer.write(head.localModel) { $0.write($1) }
    writer.write(head.variant) { writer, variant in
      writer.write(count: variant.names.count)
      for name in variant.names { writer.write(name) }
      writer.write(variant.digest)
      writer.write(count: head.otherVariants.count)
      for digest in head.otherVariants { writer.write(digest) }
    }
    writer.write(count: head.fields.count)
    for field in head.fields {
      writer.write(field.name.rawName)
      field.withUnsafeBytesOfValue { writer.write($0) }
    }
  }

  private static func decodeHead(_ reader: inout RecordReader) throws(Record.Failure) -> Record.Head {
    let identity = try reader.string()
    let code = try reader.count(limit: 999)
    let status = HTTPResponse.Status(code: code, reasonPhrase: try reader.string())
    let (requestedAt, receivedAt) = (try reader.date(), try reader.date())
    let invalidatedAt = try reader.optional { reader throws(Record.Failure) in try reader.date() }
    let localModel = try reader.optional { reader throws(Record.Failure) in try reader.string() }
    var others: [String] = []
    let variant = try reader.optional { reader throws(Record.Failure) in
      let variant = Record.Variant(names: try strings(&reader), digest: try reader.string())
      others = try strings(&reader)
      return variant
    }
    var head = Record.Head(
      identity: identity, status: status, fields: try fields(&reader), requestedAt: requestedAt, receivedAt: receivedAt,
      invalidatedAt: invalidatedAt, localModel: localModel, variant: variant)
    head.otherVariants = others
    return head
  }

  private static func fields(_ reader: inout RecordReader) throws(Record.Failure) -> HTTPFields {
    // `HTTPFields` traps at 65,535 fields.
    let count = try reader.count(limit: Int(UInt16.max) - 1)
    var fields = HTTPFields()
    // The count may be false, so it does not decide how much memory is reserved.
    fields.reserveCapacity(min(count, 64))
    for _ in 0..<count { fields.append(try field(&reader)) }
    return fields
  }

  private static func strings(_ reader: inout RecordReader) throws(Record.Failure) -> [String] {
    var strings: [String] = []
    for _ in 0..<(try reader.count()) { strings.append(try reader.string()) }
    return strings
  }

  private static func field(_ reader: inout RecordReader) throws(Record.Failure) -> HTTPField {
    guard let name = HTTPField.Name(try reader.string()) else { throw .corrupt("the name of a field is not valid") }
    // A field made from a string takes half the time of one made from bytes.
    if let value = try reader.asciiString() { return HTTPField(name: name, value: value) }
    return HTTPField(name: name, lenientValue: try reader.content())
  }
}

/// Appends values for ``RecordReader``: words of eight bytes, little-endian, and bytes after their
/// count (LEB128).
package struct RecordWriter {
  package private(set) var bytes: [UInt8] = []

  /// - Parameter capacity: The number of bytes to reserve.
  package init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  package mutating func write(_ word: UInt64) {
    withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
  }

  /// Overwrites eight bytes that were written before.
  package mutating func write(_ word: UInt64, at offset: Int) {
    withUnsafeBytes(of: word.littleEndian) { bytes.replaceSubrange(offset..<offset + 8, with: $0) }
  }

  package mutating func write(_ date: Date) { write(date.timeIntervalSinceReferenceDate.bitPattern) }

  package mutating func write(count: Int) {
    var rest = UInt64(count)
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  package mutating func write(_ content: some Collection<UInt8>) {
    write(count: content.count)
    bytes.append(contentsOf: content)
  }

  package mutating func write(_ text: String) {
    var text = text
    text.withUTF8 { write($0) }
  }

  /// Writes a byte that says whether there is a value, then the value.
  package mutating func write<Value>(_ value: Value?, _ body: (inout RecordWriter, Value) -> Void) {
    write(count: value == nil ? 0 : 1)
    if let value { body(&self, value) }
  }
}

/// Reads values that ``RecordWriter`` wrote. Throws for any other bytes and never traps.
package struct RecordReader {
  private let bytes: [UInt8]
  private var offset: Int
  private let end: Int

  /// - Parameter range: The range to read, within `bytes`.
  package init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    offset = range.lowerBound
    end = range.upperBound
  }

  package var isAtEnd: Bool { offset == end }

  package mutating func word() throws(Record.Failure) -> UInt64 {
    let range = try read(8)
    return bytes.withUnsafeBytes {
      UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: range.lowerBound, as: UInt64.self))
    }
  }

  package mutating func date() throws(Record.Failure) -> Date {
    Date(timeIntervalSinceReferenceDate: Double(bitPattern: try word()))
  }

  /// Reads a count of at most `limit`.
  package mutating func count(limit: Int = .max) throws(Record.Failure) -> Int {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      guard offset < end else { throw .truncated }
      guard shift < 63 else { throw .corrupt("one of its counts is out of range") }
      let byte = bytes[offset]
      offset += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { break }
      shift += 7
    }
    guard let count = Int(exactly: value), count <= limit else { throw .corrupt("one of its counts is out of range") }
    return count
  }

  package mutating func content() throws(Record.Failure) -> ArraySlice<UInt8> { bytes[try read(count())] }

  /// Reads a string, and repairs bytes that are not UTF-8. The checksum has verified the bytes
  /// already. A second validation would take half the time of reading a head.
  package mutating func string() throws(Record.Failure) -> String {
    let range = try read(count())
    return bytes.withUnsafeBufferPointer { String(decoding: UnsafeBufferPointer(rebasing: $0[range]), as: UTF8.self) }
  }

  /// Reads a string of printable ASCII. Returns `nil` and reads nothing for other bytes, and for a
  /// space at either end, which a field made from a string would lose.
  package mutating func asciiString() throws(Record.Failure) -> String? {
    let start = offset
    let range = try read(count())
    let text = bytes.withUnsafeBufferPointer { bytes -> String? in
      let content = UnsafeBufferPointer(rebasing: bytes[range])
      // A separate loop: a closure for each byte takes four times as long.
      for byte in content where byte &- 0x20 > 0x5E { return nil }
      guard content.first != 0x20, content.last != 0x20 else { return nil }
      return String(decoding: content, as: UTF8.self)
    }
    if text == nil { offset = start }
    return text
  }

  package mutating func optional<Value>(
    _ body: (inout RecordReader) throws(Record.Failure) -> Value
  ) throws(Record.Failure) -> Value? {
    try count(limit: 1) == 0 ? nil : body(&self)
  }

  private mutating func read(_ count: Int) throws(Record.Failure) -> Range<Int> {
    guard count <= end - offset else { throw .truncated }
    defer { offset += count }
    return offset..<offset + count
  }
}
