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
    let name: (Name, length: Int)? =
      switch line[0] {
      case UInt8(ascii: "d") where Self.begins(line, with: "data"): (.data, 4)
      case UInt8(ascii: "i") where Self.begins(line, with: "id"): (.id, 2)
      case UInt8(ascii: "e") where Self.begins(line, with: "event"): (.event, 5)
      case UInt8(ascii: "r") where Self.begins(line, with: "retry"): (.retry, 5)
      default: nil
      }
    self.name = name?.0
    var start = min((name?.length ?? line.count) + 1, line.count)
    if start < line.count, line[start] == UInt8(ascii: " ") { start += 1 }
    value = UnsafeBufferPointer(rebasing: line[start...])
  }

  /// Returns `true` if `name` is all of the line, or a colon follows.
  private static func begins(_ line: UnsafeBufferPointer<UInt8>, with name: StaticString) -> Bool {
    let length = name.utf8CodeUnitCount
    guard let base = line.baseAddress, line.count >= length else { return false }
    return (line.count == length || line[length] == UInt8(ascii: ":")) && memcmp(base, name.utf8Start, length) == 0
  }

  /// Returns `true` if the value is `text`.
  func isEqual(to text: StaticString) -> Bool {
    guard let base = value.baseAddress, value.count == text.utf8CodeUnitCount else { return false }
    return memcmp(base, text.utf8Start, value.count) == 0
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
    // Most blocks end with an empty line, which is found without a search.
    if lineFeed < start { lineFeed = Self.index(of: .lineFeed, in: bytes, from: start) }
    if carriageReturn < start { carriageReturn = Self.index(of: .carriageReturn, in: bytes, from: start) }
    let end = min(lineFeed, carriageReturn)
    return end < bytes.count ? end : nil
  }

  private static func index(of byte: UInt8, in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    guard start < bytes.count, bytes[start] != byte else { return start }
    guard let base = bytes.baseAddress,
      let found = memchr(base + start, Int32(byte), bytes.count - start)
    else { return bytes.count }
    return UnsafeRawPointer(found) - UnsafeRawPointer(base)
  }
}
