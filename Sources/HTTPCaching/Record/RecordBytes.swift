import Foundation

/// Appends what ``RecordReader`` reads: words of eight bytes, little-endian, and bytes after their count (LEB128).
struct RecordWriter {
  private(set) var bytes: [UInt8] = []

  /// - Parameter capacity: how many bytes there is room for without allocating again.
  init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  mutating func write(_ word: UInt64) {
    withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
  }

  /// Writes over eight bytes that are there.
  mutating func write(_ word: UInt64, at offset: Int) {
    withUnsafeBytes(of: word.littleEndian) { bytes.replaceSubrange(offset..<offset + 8, with: $0) }
  }

  mutating func write(_ date: Date) { write(date.timeIntervalSinceReferenceDate.bitPattern) }

  mutating func write(count: Int) {
    var rest = UInt64(count)
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func write(_ content: some Collection<UInt8>) {
    write(count: content.count)
    bytes.append(contentsOf: content)
  }

  mutating func write(_ text: String) {
    var text = text
    text.withUTF8 { write($0) }
  }

  /// One byte that says whether there is a value, then the value.
  mutating func write<Value>(_ value: Value?, _ body: (inout RecordWriter, Value) -> Void) {
    write(count: value == nil ? 0 : 1)
    if let value { body(&self, value) }
  }
}

/// Reads what ``RecordWriter`` wrote, and any other bytes without trapping.
struct RecordReader {
  private let bytes: [UInt8]
  private var offset: Int
  private let end: Int

  /// - Parameter range: the part to read, within `bytes`.
  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    offset = range.lowerBound
    end = range.upperBound
  }

  var isAtEnd: Bool { offset == end }

  mutating func word() throws(RecordError) -> UInt64 {
    let range = try take(8)
    return bytes.withUnsafeBytes {
      UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: range.lowerBound, as: UInt64.self))
    }
  }

  mutating func date() throws(RecordError) -> Date {
    Date(timeIntervalSinceReferenceDate: Double(bitPattern: try word()))
  }

  /// A count that is at most `limit`.
  mutating func count(limit: Int = .max) throws(RecordError) -> Int {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      guard offset < end else { throw .truncated }
      guard shift < 63 else { throw .corrupt("a count is out of range") }
      let byte = bytes[offset]
      offset += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { break }
      shift += 7
    }
    guard let count = Int(exactly: value), count <= limit else { throw .corrupt("a count is out of range") }
    return count
  }

  mutating func content() throws(RecordError) -> ArraySlice<UInt8> { bytes[try take(count())] }

  /// What is not UTF-8 is repaired: a checksum has said that these are the bytes of a string, and checking each string
  /// again would take half of the time of reading a head.
  mutating func string() throws(RecordError) -> String {
    let range = try take(count())
    return bytes.withUnsafeBufferPointer { String(decoding: UnsafeBufferPointer(rebasing: $0[range]), as: UTF8.self) }
  }

  /// The string, where its bytes are printable ASCII without a space at either end, which a field made of a string loses; else
  /// `nil`, and nothing is read.
  mutating func asciiString() throws(RecordError) -> String? {
    let start = offset
    let range = try take(count())
    let text = bytes.withUnsafeBufferPointer { bytes -> String? in
      let content = UnsafeBufferPointer(rebasing: bytes[range])
      // In a loop of its own: a closure for each byte takes four times as long.
      for byte in content where byte &- 0x20 > 0x5E { return nil }
      guard content.first != 0x20, content.last != 0x20 else { return nil }
      return String(decoding: content, as: UTF8.self)
    }
    if text == nil { offset = start }
    return text
  }

  mutating func optional<Value>(
    _ body: (inout RecordReader) throws(RecordError) -> Value
  ) throws(RecordError) -> Value? {
    try count(limit: 1) == 0 ? nil : body(&self)
  }

  private mutating func take(_ count: Int) throws(RecordError) -> Range<Int> {
    guard count <= end - offset else { throw .truncated }
    defer { offset += count }
    return offset..<offset + count
  }
}
