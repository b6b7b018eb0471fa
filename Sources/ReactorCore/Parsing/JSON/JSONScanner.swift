/// Reads one JSON text (RFC 8259) strictly, without recursion, and tells a visitor its tokens.
///
/// A UTF-8 byte order mark before the value is skipped (§8.1 allows that). An escaped surrogate without its other half is
/// syntax that §8.2 allows: it passes here, and whoever makes a string of it decides.
struct JSONScanner {
  private let bytes: UnsafeRawBufferPointer
  private let end: Int
  private var position: Int
  /// The open containers, outermost first: whether each is an object.
  private var containers: [Bool] = []
  /// The innermost of them.
  private var isInObject = false

  /// - Parameter range: where the text is; offsets are those in `bytes`, not in the range.
  init(_ bytes: UnsafeRawBufferPointer, range: Range<Int>? = nil) {
    self.bytes = bytes
    position = range?.lowerBound ?? 0
    end = range?.upperBound ?? bytes.count
    containers.reserveCapacity(32)
  }

  mutating func scan(_ visitor: inout some JSONVisitor) throws(JSONFault) {
    skipByteOrderMark()
    var needsValue = true
    while !visitor.isFinished {
      skipWhitespace()
      if needsValue {
        needsValue = try value(&visitor)
      } else if containers.isEmpty {
        guard position == end else { throw fault("nothing but white space after the value") }
        return
      } else {
        needsValue = try separator(&visitor)
      }
    }
  }

  // MARK: Structure

  /// Reads a scalar, or opens a container; true where a value must follow.
  @inline(__always)
  private mutating func value(_ visitor: inout some JSONVisitor) throws(JSONFault) -> Bool {
    switch peek {
    case UInt8(ascii: "\""): visitor.visit(try string(.string), in: bytes)
    case UInt8(ascii: "{"): return try openObject(&visitor)
    case UInt8(ascii: "["): return try openArray(&visitor)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): visitor.visit(try number(), in: bytes)
    case UInt8(ascii: "t"): visitor.visit(try literal("true", .bool), in: bytes)
    case UInt8(ascii: "f"): visitor.visit(try literal("false", .bool), in: bytes)
    case UInt8(ascii: "n"): visitor.visit(try literal("null", .null), in: bytes)
    default: throw fault("a JSON value")
    }
    return false
  }

  private mutating func openObject(_ visitor: inout some JSONVisitor) throws(JSONFault) -> Bool {
    try open(.beginObject, &visitor)
    if peek == UInt8(ascii: "}") {
      close(.endObject, &visitor)
      return false
    }
    try key(&visitor, orElse: "a member name or }")
    return true
  }

  private mutating func openArray(_ visitor: inout some JSONVisitor) throws(JSONFault) -> Bool {
    try open(.beginArray, &visitor)
    guard peek == UInt8(ascii: "]") else { return true }
    close(.endArray, &visitor)
    return false
  }

  private mutating func open(_ kind: JSONToken.Kind, _ visitor: inout some JSONVisitor) throws(JSONFault) {
    guard containers.count < JSONValue.maximumDepth else {
      throw JSONFault(
        reason: .tooDeep, expected: "expected at most \(JSONValue.maximumDepth) levels of nesting", offset: position)
    }
    isInObject = kind == .beginObject
    containers.append(isInObject)
    visitor.visit(JSONToken(kind, start: position, end: position + 1), in: bytes)
    position += 1
    skipWhitespace()
  }

  private mutating func close(_ kind: JSONToken.Kind, _ visitor: inout some JSONVisitor) {
    containers.removeLast()
    isInObject = containers.last ?? false
    position += 1
    visitor.visit(JSONToken(kind, start: position - 1, end: position), in: bytes)
  }

  /// Reads what follows a value inside a container; true where another value must follow.
  @inline(__always)
  private mutating func separator(_ visitor: inout some JSONVisitor) throws(JSONFault) -> Bool {
    switch peek {
    case UInt8(ascii: ","):
      position += 1
      guard isInObject else { return true }
      skipWhitespace()
      try key(&visitor, orElse: "a member name")
      return true
    case UInt8(ascii: "}") where isInObject: close(.endObject, &visitor)
    case UInt8(ascii: "]") where !isInObject: close(.endArray, &visitor)
    default: throw fault(isInObject ? "a comma or }" : "a comma or ]")
    }
    return false
  }

  @inline(__always)
  private mutating func key(_ visitor: inout some JSONVisitor, orElse expected: StaticString) throws(JSONFault) {
    guard peek == UInt8(ascii: "\"") else { throw fault(expected) }
    visitor.visit(try string(.key), in: bytes)
    skipWhitespace()
    guard peek == UInt8(ascii: ":") else { throw fault("a colon") }
    position += 1
  }

  // MARK: Scalars

  private mutating func literal(_ text: StaticString, _ kind: JSONToken.Kind) throws(JSONFault) -> JSONToken {
    let start = position
    for index in 0..<text.utf8CodeUnitCount {
      guard peek == text.utf8Start[index] else { throw fault(text) }
      position += 1
    }
    return JSONToken(kind, start: start, end: position)
  }

  private mutating func number() throws(JSONFault) -> JSONToken {
    let start = position
    var isComplex = false
    if peek == UInt8(ascii: "-") { position += 1 }
    if peek == UInt8(ascii: "0") { position += 1 } else { try digits() }
    if peek == UInt8(ascii: ".") {
      isComplex = true
      position += 1
      try digits()
    }
    if peek | 0x20 == UInt8(ascii: "e") {
      isComplex = true
      position += 1
      if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { position += 1 }
      try digits()
    }
    return JSONToken(.number, start: start, end: position, isComplex: isComplex)
  }

  private mutating func digits() throws(JSONFault) {
    let start = position
    while peek &- UInt8(ascii: "0") < 10 { position += 1 }
    guard position > start else { throw fault("a digit") }
  }

  private mutating func string(_ kind: JSONToken.Kind) throws(JSONFault) -> JSONToken {
    let start = position
    var isComplex = false
    var isASCII = true
    position += 1
    while true {
      skipPlainText()
      guard position < end else { throw fault("a quote that ends the string") }
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return JSONToken(kind, start: start, end: position, isComplex: isComplex, isASCII: isASCII)
      case UInt8(ascii: "\\"):
        isComplex = true
        try escape()
      case 0..<0x20: throw fault("no control character in a string")
      default:
        isASCII = false
        repeat { try multibyte() } while position < end && bytes[position] >= 0x80
      }
    }
  }

  /// Moves to the next byte that is a quote, a backslash, a control character or not ASCII; eight bytes at a time.
  @inline(__always)
  private mutating func skipPlainText() {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highBits = ones &* 0x80
    while position &+ 8 <= end {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      let quotes = word ^ (ones &* 0x22)
      let backslashes = word ^ (ones &* 0x5C)
      // The lowest bit that is set is exact; higher ones may come from a borrow.
      let zeros = (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | (word &- ones &* 0x20) & ~word
      let stops = (zeros | word) & highBits
      guard stops == 0 else {
        position &+= stops.trailingZeroBitCount >> 3
        return
      }
      position &+= 8
    }
    while position < end, bytes[position] >= 0x20, bytes[position] < 0x80, bytes[position] != UInt8(ascii: "\""),
      bytes[position] != UInt8(ascii: "\\")
    {
      position &+= 1
    }
  }

  private mutating func escape() throws(JSONFault) {
    position += 1
    switch peek {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 1
    case UInt8(ascii: "u"):
      position += 1
      for _ in 0..<4 {
        guard JSONText.hexadecimal(peek) != nil else { throw fault("four hexadecimal digits after \\u") }
        position += 1
      }
    default: throw fault("an escape that JSON knows")
    }
  }

  /// Reads one character of more than one byte, as table 3-7 of the Unicode standard has it.
  @inline(__always)
  private mutating func multibyte() throws(JSONFault) {
    let first = bytes[position]
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0xC2...0xDF: length = 2
    case 0xE0...0xEF:
      length = 3
      if first == 0xE0 { second = 0xA0...0xBF }
      if first == 0xED { second = 0x80...0x9F }
    case 0xF0...0xF4:
      length = 4
      if first == 0xF0 { second = 0x90...0xBF }
      if first == 0xF4 { second = 0x80...0x8F }
    default: throw fault("valid UTF-8")
    }
    guard position &+ length <= end, second.contains(bytes[position &+ 1]) else { throw fault("valid UTF-8") }
    for index in 2..<max(length, 2) where bytes[position &+ index] & 0xC0 != 0x80 { throw fault("valid UTF-8") }
    position &+= length
  }

  // MARK: Bytes

  /// The byte at the position; 0, which no token has, at the end.
  @inline(__always)
  private var peek: UInt8 { position < end ? bytes[position] : 0 }

  @inline(__always)
  private mutating func skipWhitespace() {
    while position < end {
      switch bytes[position] {
      case 0x20, 0x0A, 0x0D, 0x09: position &+= 1
      default: return
      }
    }
  }

  private mutating func skipByteOrderMark() {
    guard position == 0, end >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF else { return }
    position = 3
  }

  @inline(never)
  private func fault(_ expected: StaticString) -> JSONFault {
    let found = position < end ? "" : ", found the end of the bytes"
    return JSONFault(reason: .notJSON, expected: "expected \(expected)\(found)", offset: position)
  }
}
