#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A line of an event stream: a known field, or none (WHATWG HTML §9.2.6).
struct EventStreamField {
  enum Name { case data, event, id, retry }

  /// `nil` for a comment, and for a field that is ignored.
  let name: Name?
  /// The bytes behind the colon and one space.
  let value: UnsafeBufferPointer<UInt8>

  /// - Parameter line: A line that is not empty, without its end.
  init(_ line: UnsafeBufferPointer<UInt8>) {
    // The longest known name has five bytes, so all of them fit into a number. The first bit tells
    // names of different lengths apart.
    var (packed, length) = (UInt64(1), 0)
    while length < line.count, length < 6, line[length] != UInt8(ascii: ":") {
      packed = packed << 8 | UInt64(line[length])
      length += 1
    }
    name =
      switch packed {
      case 0x01_6461_7461: .data
      case 0x0165_7665_6E74: .event
      case 0x01_6964: .id
      case 0x0172_6574_7279: .retry
      default: nil
      }
    var start = min(length + 1, line.count)
    if start < line.count, line[start] == UInt8(ascii: " ") { start += 1 }
    value = UnsafeBufferPointer(rebasing: line[start...])
  }

  /// The value as a number of ASCII digits, at most a year of milliseconds; `nil` for anything
  /// else.
  var number: Int64? {
    guard !value.isEmpty else { return nil }
    var number: Int64 = 0
    for byte in value {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = min(number * 10 + Int64(byte - UInt8(ascii: "0")), Self.largestNumber)
    }
    return number
  }

  private static let largestNumber: Int64 = 365 * 86_400_000
}

/// The line ends of a piece, from its start to its end. It searches each byte once for either.
struct LineEnds {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var lineFeed: Int
  private var carriageReturn: Int

  init(of bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
    lineFeed = Self.index(of: .lineFeed, in: bytes, from: 0)
    carriageReturn = Self.index(of: .carriageReturn, in: bytes, from: 0)
  }

  /// Returns the index of the first line end at or behind `start`; `nil` for none.
  mutating func next(from start: Int) -> Int? {
    if lineFeed < start { lineFeed = Self.index(of: .lineFeed, in: bytes, from: start) }
    if carriageReturn < start { carriageReturn = Self.index(of: .carriageReturn, in: bytes, from: start) }
    let end = min(lineFeed, carriageReturn)
    return end < bytes.count ? end : nil
  }

  private static func index(of byte: UInt8, in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    guard start < bytes.count, let base = bytes.baseAddress,
      let found = memchr(base + start, Int32(byte), bytes.count - start)
    else { return bytes.count }
    return UnsafeRawPointer(found) - UnsafeRawPointer(base)
  }
}
