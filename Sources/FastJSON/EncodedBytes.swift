// JSON's scalars as bytes, as `JSONEncoder` writes them.

import Foundation

extension Growing<UInt8> {
  @inline(__always) mutating func write(_ text: StaticString) {
    reserve(text.utf8CodeUnitCount)
    (start + count).update(from: text.utf8Start, count: text.utf8CodeUnitCount)
    advance(by: text.utf8CodeUnitCount)
  }

  @inline(__always) mutating func write(_ bytes: UnsafePointer<UInt8>, count: Int) {
    reserve(count)
    (start + self.count).update(from: bytes, count: count)
    advance(by: count)
  }

  /// The same of bytes of a ``Growing`` that has room for 16 more.
  @inline(__always) mutating func write(padded bytes: UnsafePointer<UInt8>, count: Int) {
    guard count <= 64 else { return write(bytes, count: count) }
    reserve(80)
    var copied = 0
    repeat {
      let pair = UnsafeRawPointer(bytes + copied).loadUnaligned(as: SIMD2<UInt64>.self)
      UnsafeMutableRawPointer(start + (self.count &+ copied)).storeBytes(of: pair, as: SIMD2<UInt64>.self)
      copied &+= 16
    } while copied < count
    advance(by: count)
  }

  /// Writes text that needs no escape.
  mutating func write(plain text: String) {
    var text = text
    text.withUTF8 { if let start = $0.baseAddress { write(start, count: $0.count) } }
  }

  /// Writes a string with its quotes.
  ///
  /// - Returns: `true` if it has an escape, or a character beyond ASCII.
  @inline(__always) mutating func write(_ text: String, escapesSlashes: Bool) -> Bool {
    if let isSpecial = text.utf8.withContiguousStorageIfAvailable({
      writeQuoted($0, escapesSlashes: escapesSlashes)
    }) {
      return isSpecial
    }
    return Array(text.utf8).withUnsafeBufferPointer { writeQuoted($0, escapesSlashes: escapesSlashes) }
  }

  private mutating func writeQuoted(_ text: UnsafeBufferPointer<UInt8>, escapesSlashes: Bool) -> Bool {
    // More than the text, since it is copied by eights.
    reserve(text.count &+ 16)
    append(UInt8(ascii: "\""))
    var (seen, next): (UInt64, Int) = (0, 0)
    var hasEscape = false
    // A quote is looked for anyway.
    let slash: UInt8 = escapesSlashes ? UInt8(ascii: "/") : UInt8(ascii: "\"")
    while next < text.count {
      let word = Self.word(of: text, at: next)
      let length = min(text.count &- next, 8)
      UnsafeMutableRawPointer(start + count).storeBytes(of: word.littleEndian, as: UInt64.self)
      seen |= word
      let plain = min(Self.plainCount(word, slash), length)
      advance(by: plain)
      next &+= plain
      if plain < length {
        hasEscape = true
        writeEscape(text[next])
        next &+= 1
        reserve(text.count &- next &+ 16)
      }
    }
    append(UInt8(ascii: "\""))
    return hasEscape || seen & 0x8080_8080_8080_8080 != 0
  }

  /// The next eight bytes, with zeros behind the last one.
  @inline(__always) private static func word(of text: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt64 {
    guard let start = UnsafeRawPointer(text.baseAddress) else { return 0 }
    let rest = text.count &- index
    if rest >= 8 { return UInt64(littleEndian: (start + index).loadUnaligned(as: UInt64.self)) }
    if text.count >= 8 {
      let last = UInt64(littleEndian: (start + (text.count &- 8)).loadUnaligned(as: UInt64.self))
      return last >> UInt64((8 &- rest) &* 8)
    }
    var word: UInt64 = 0
    for place in 0..<rest { word |= UInt64(text[index &+ place]) << UInt64(place &* 8) }
    return word
  }

  /// The number of bytes before the first that is a control character, a quote, a backslash or
  /// `slash`. Bytes beyond ASCII are plain.
  @inline(__always) private static func plainCount(_ word: UInt64, _ slash: UInt8) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let (quotes, backslashes) = (word ^ (ones &* 0x22), word ^ (ones &* 0x5C))
    let slashes = word ^ (ones &* UInt64(slash))
    // The lowest bit that is found is right; a carry may find others above it.
    let found =
      (word &- ones &* 0x20) & ~word | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
      | (slashes &- ones) & ~slashes
    return (found & 0x8080_8080_8080_8080).trailingZeroBitCount / 8
  }

  @inline(never) private mutating func writeEscape(_ byte: UInt8) {
    switch byte {
    case 0x08: write("\\b")
    case 0x09: write("\\t")
    case 0x0A: write("\\n")
    case 0x0C: write("\\f")
    case 0x0D: write("\\r")
    case ..<0x20:
      write(byte < 0x10 ? "\\u000" : "\\u001")
      let digit = byte & 0x0F
      append(digit < 10 ? digit &+ UInt8(ascii: "0") : digit &- 10 &+ UInt8(ascii: "a"))
    default:
      append(UInt8(ascii: "\\"))
      append(byte)
    }
  }

  @inline(__always) mutating func write<T: FixedWidthInteger>(integer value: T) {
    guard T.bitWidth <= 64 else { return write(plain: value.description) }
    write(UInt64(truncatingIfNeeded: value.magnitude), isNegative: value < 0)
  }

  mutating func write(_ magnitude: UInt64, isNegative: Bool) {
    reserve(20)
    let place = start + count
    if isNegative { place[0] = UInt8(ascii: "-") }
    var length = isNegative ? 2 : 1
    var bound: UInt64 = 10
    while magnitude >= bound {
      length &+= 1
      let (next, overflows) = bound.multipliedReportingOverflow(by: 10)
      if overflows { break }
      bound = next
    }
    var rest = magnitude
    var digit = length
    repeat {
      digit &-= 1
      let (quotient, remainder) = rest.quotientAndRemainder(dividingBy: 10)
      place[digit] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: remainder)
      rest = quotient
    } while rest > 0
    advance(by: length)
  }

  /// Writes thousandths that are no whole number.
  private mutating func write(thousandths: Int64) {
    let (whole, rest) = thousandths.magnitude.quotientAndRemainder(dividingBy: 1_000)
    write(whole, isNegative: thousandths < 0)
    // The 1 makes way for the point.
    let point = count
    write(rest &+ 1_000, isNegative: false)
    start[point] = UInt8(ascii: ".")
    while start[count &- 1] == UInt8(ascii: "0") { cut(to: count &- 1) }
  }

  /// Writes a finite number in the fewest digits that read back as the same number.
  @inline(__always) mutating func write<T: BinaryFloatingPoint & CustomStringConvertible>(float value: T) {
    let whole = Double(value)
    // `description` is in exponents from 2^54 on; -0 has its sign.
    if let integer = Int64(exactly: whole), integer.magnitude < 1 << 53, integer != 0 || whole.sign == .plus,
      T.self == Double.self || integer.magnitude < 1 << 24
    {
      return write(integer: integer)
    }
    // Up to three decimals: no other decimal of at most 15 digits is the same number.
    let thousandths = (whole * 1_000).rounded()
    if T.self == Double.self, thousandths.magnitude < 1e15, thousandths / 1_000 == whole, thousandths != 0 {
      return write(thousandths: Int64(thousandths))
    }
    write(plain: value.description)
    if start[count &- 1] == UInt8(ascii: "0"), start[count &- 2] == UInt8(ascii: ".") { cut(to: count &- 2) }
  }
}

extension ISO8601Date {
  /// Writes a date of the years 1601 to 9999 by arithmetic, without fractions of its second.
  ///
  /// - Returns: `false` for any other.
  static func write(_ date: Date, to bytes: inout Growing<UInt8>) -> Bool {
    let seconds = date.timeIntervalSinceReferenceDate.rounded(.down)
    guard seconds >= -12_622_780_800, seconds < 252_423_993_600 else { return false }
    // Since 0000-03-01: nothing is negative, and a leap day is the last of its year (Hinnant).
    let (days, second) = (Int(seconds) + 730_791 * 86_400).quotientAndRemainder(dividingBy: 86_400)
    let (era, dayOfEra) = days.quotientAndRemainder(dividingBy: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let (day, month) = (dayOfYear - (153 * shifted + 2) / 5 + 1, shifted < 10 ? shifted + 3 : shifted - 9)
    let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    let (hour, minute) = (second / 3_600, second / 60 % 60)
    bytes.write("\"0000-00-00T00:00:00Z\"")
    let end = bytes.start + bytes.count
    func put(_ number: Int, before place: Int) {
      end[-place] += UInt8(number / 10)
      end[-place + 1] += UInt8(number % 10)
    }
    put(year / 100, before: 21)
    put(year % 100, before: 19)
    put(month, before: 16)
    put(day, before: 13)
    put(hour, before: 10)
    put(minute, before: 7)
    put(second % 60, before: 4)
    return true
  }
}
