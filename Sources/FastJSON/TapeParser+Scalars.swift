// Strings and numbers of the text.

// MARK: Strings

extension TapeParser {
  @inline(__always) mutating func parseString() throws(SyntaxFault) {
    let start = p &+ 1
    let (length, _) = try scanString()
    var word = Word(.string, offset: start)
    if length <= Word.maximumStringLength {
      word |= UInt64(truncatingIfNeeded: length) << 32
      words[w] = word
      w &+= 1
    } else {
      words[w] = word | Word.longString
      words[w &+ 1] = Word(UInt64(truncatingIfNeeded: length))
      w &+= 2
    }
  }

  /// Reads a string from its quote to behind the other, and replaces its escapes in place.
  @inline(__always) mutating func scanString() throws(SyntaxFault) -> (length: Int, isASCII: Bool) {
    p &+= 1
    let start = p
    while true {
      let stop = Self.special(UnsafeRawPointer(text + p).loadUnaligned(as: UInt64.self).littleEndian)
      if stop == 0 {
        p &+= 8
        continue
      }
      p &+= stop.trailingZeroBitCount >> 3
      if text[p] == UInt8(ascii: "\"") {
        p &+= 1
        return (p &- 1 &- start, true)
      }
      return try scanRest(from: start)
    }
  }

  /// The upper bit of each byte that is a quote, a backslash, a control character or no ASCII.
  /// Exact up to the first such byte.
  @inline(__always) private static func special(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = word ^ (ones &* 0x22)
    let slashes = word ^ (ones &* 0x5C)
    let zeros = ((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes)
    return (zeros | (word &- ones &* 0x20) | word) & 0x8080_8080_8080_8080
  }

  /// The rest of a string that is not plain, from the first byte that is special.
  @inline(never) private mutating func scanRest(from start: Int) throws(SyntaxFault) -> (length: Int, isASCII: Bool) {
    /// The place of the next byte that is written; before `p` once there was an escape.
    var end = p
    var isASCII = true
    while true {
      let byte = text[p]
      switch byte {
      case UInt8(ascii: "\""):
        p &+= 1
        return (end &- start, isASCII)
      case UInt8(ascii: "\\"):
        let scalar = try scanEscape()
        if scalar >= 0x80 { isASCII = false }
        end = write(scalar, at: end)
      case 0x80...:
        isASCII = false
        let count = try sequenceLength()
        for index in 0..<count { text[end &+ index] = text[p &+ index] }
        end &+= count
        p &+= count
      case ..<0x20:
        throw fault(
          p < tape.textCount ? "expected no control character in a string" : "expected a quote at the end of a string")
      default:
        // Plain bytes, eight at a time.
        let word = UnsafeRawPointer(text + p).loadUnaligned(as: UInt64.self)
        let stop = Self.special(word.littleEndian)
        let count = stop == 0 ? 8 : stop.trailingZeroBitCount >> 3
        if end != p {
          if stop == 0 {
            UnsafeMutableRawPointer(text + end).storeBytes(of: word, as: UInt64.self)
          } else {
            for index in 0..<count { text[end &+ index] = text[p &+ index] }
          }
        }
        end &+= count
        p &+= count
      }
    }
  }

  /// The length of the UTF-8 sequence at `p`, which is valid (Unicode 16, table 3-7).
  @inline(__always) private func sequenceLength() throws(SyntaxFault) -> Int {
    let (a, b) = (text[p], text[p &+ 1])
    switch a {
    case 0xC2...0xDF:
      if b & 0xC0 == 0x80 { return 2 }
    case 0xE0...0xEF:
      let least: UInt8 = a == 0xE0 ? 0xA0 : 0x80
      let greatest: UInt8 = a == 0xED ? 0x9F : 0xBF
      if b >= least, b <= greatest, text[p &+ 2] & 0xC0 == 0x80 { return 3 }
    case 0xF0...0xF4:
      let least: UInt8 = a == 0xF0 ? 0x90 : 0x80
      let greatest: UInt8 = a == 0xF4 ? 0x8F : 0xBF
      if b >= least, b <= greatest, text[p &+ 2] & 0xC0 == 0x80, text[p &+ 3] & 0xC0 == 0x80 { return 4 }
    default: break
    }
    throw fault("expected valid UTF-8")
  }

  /// The scalar of the escape at `p`, which is passed; U+FFFD for half of a surrogate pair, where
  /// such are kept.
  private mutating func scanEscape() throws(SyntaxFault) -> UInt32 {
    let escape = p
    p &+= 2
    switch text[p &- 1] {
    case UInt8(ascii: "\""): return 0x22
    case UInt8(ascii: "\\"): return 0x5C
    case UInt8(ascii: "/"): return 0x2F
    case UInt8(ascii: "b"): return 0x08
    case UInt8(ascii: "f"): return 0x0C
    case UInt8(ascii: "n"): return 0x0A
    case UInt8(ascii: "r"): return 0x0D
    case UInt8(ascii: "t"): return 0x09
    case UInt8(ascii: "u"): break
    default: throw fault("expected one of the escapes of JSON", at: p &- 1)
    }
    let unit = try scanHex()
    guard unit & 0xF800 == 0xD800 else { return unit }
    let behind = p
    guard unit < 0xDC00, text[p] == UInt8(ascii: "\\"), text[p &+ 1] == UInt8(ascii: "u") else {
      return try half(of: escape, behind)
    }
    p &+= 2
    let low = try scanHex()
    guard low & 0xFC00 == 0xDC00 else { return try half(of: escape, behind) }
    return 0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF
  }

  /// Half of a surrogate pair, which RFC 8259 (section 8.2) leaves open: refused, or replaced and
  /// noted.
  @inline(never) private mutating func half(of escape: Int, _ behind: Int) throws(SyntaxFault) -> UInt32 {
    guard keepsHalfPairs else { throw fault("expected a complete surrogate pair", at: escape, .surrogate) }
    if halfPairs.last != w { halfPairs.append(w) }
    p = behind
    return 0xFFFD
  }

  private mutating func scanHex() throws(SyntaxFault) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      let byte = text[p]
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte &- 0x30
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte &- 0x57
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte &- 0x37
      default: throw fault("expected four hexadecimal digits after \\u")
      }
      unit = unit << 4 | UInt32(digit)
      p &+= 1
    }
    return unit
  }

  /// Writes a scalar in UTF-8, which is shorter than its escape.
  private func write(_ scalar: UInt32, at place: Int) -> Int {
    switch scalar {
    case ..<0x80:
      text[place] = UInt8(scalar)
      return place &+ 1
    case ..<0x800:
      text[place] = UInt8(0xC0 | scalar >> 6)
      text[place &+ 1] = UInt8(0x80 | scalar & 0x3F)
      return place &+ 2
    case ..<0x10000:
      text[place] = UInt8(0xE0 | scalar >> 12)
      text[place &+ 1] = UInt8(0x80 | scalar >> 6 & 0x3F)
      text[place &+ 2] = UInt8(0x80 | scalar & 0x3F)
      return place &+ 3
    default:
      text[place] = UInt8(0xF0 | scalar >> 18)
      text[place &+ 1] = UInt8(0x80 | scalar >> 12 & 0x3F)
      text[place &+ 2] = UInt8(0x80 | scalar >> 6 & 0x3F)
      text[place &+ 3] = UInt8(0x80 | scalar & 0x3F)
      return place &+ 4
    }
  }
}

// MARK: Numbers

extension TapeParser {
  @inline(__always) mutating func parseNumber() throws(SyntaxFault) {
    var word = Word(.number, offset: p)
    if text[p] == UInt8(ascii: "-") {
      word |= Word.negative
      p &+= 1
    }
    var significand: UInt64 = 0
    let start = p
    var digit = text[p] &- 0x30
    guard digit <= 9 else { throw fault("expected a digit") }
    if digit == 0 {
      p &+= 1
      guard text[p] &- 0x30 > 9 else { throw fault("expected no digit after a leading 0") }
    } else {
      repeat {
        significand = significand &* 10 &+ UInt64(digit)
        p &+= 1
        digit = text[p] &- 0x30
      } while digit <= 9
    }
    var digits = p &- start
    var exponent = 0
    let byte = text[p]
    if byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") {
      word |= Word.decimal
      if byte == UInt8(ascii: ".") {
        p &+= 1
        let fraction = p
        digit = text[p] &- 0x30
        guard digit <= 9 else { throw fault("expected a digit after the decimal point") }
        while let eight = eightDigits() {
          significand = significand &* 100_000_000 &+ eight
          p &+= 8
        }
        digit = text[p] &- 0x30
        while digit <= 9 {
          significand = significand &* 10 &+ UInt64(digit)
          p &+= 1
          digit = text[p] &- 0x30
        }
        exponent = fraction &- p
        digits &-= exponent
      }
      if text[p] | 0x20 == UInt8(ascii: "e") { try parseExponent(&exponent) }
    }
    if digits > 19 || exponent > 10_000 || exponent < -10_000 { word |= Word.inexact }
    words[w] = word | UInt64(UInt16(truncatingIfNeeded: exponent)) << 32
    words[w &+ 1] = significand
    w &+= 2
  }

  /// The number of the next eight bytes, where they are digits (Lemire, *Quickly parsing eight
  /// digits*).
  @inline(__always) private func eightDigits() -> UInt64? {
    let word = UnsafeRawPointer(text + p).loadUnaligned(as: UInt64.self).littleEndian
    let high = word & 0xF0F0_F0F0_F0F0_F0F0
    let beyond = (word &+ 0x0606_0606_0606_0606) & 0xF0F0_F0F0_F0F0_F0F0
    guard high | beyond >> 4 == 0x3333_3333_3333_3333 else { return nil }
    var value = word &- 0x3030_3030_3030_3030
    value = value &* 10 &+ value >> 8
    let even = (value & 0x0000_00FF_0000_00FF) &* 0x000F_4240_0000_0064
    let odd = (value >> 16 & 0x0000_00FF_0000_00FF) &* 0x0000_2710_0000_0001
    return (even &+ odd) >> 32
  }

  private mutating func parseExponent(_ exponent: inout Int) throws(SyntaxFault) {
    p &+= 1
    let isNegative = text[p] == UInt8(ascii: "-")
    if isNegative || text[p] == UInt8(ascii: "+") { p &+= 1 }
    guard text[p] &- 0x30 <= 9 else { throw fault("expected a digit in the exponent") }
    var value = 0
    while text[p] &- 0x30 <= 9 {
      if value < 1_000_000 { value = value * 10 + Int(text[p] &- 0x30) }
      p &+= 1
    }
    exponent += isNegative ? -value : value
  }
}
