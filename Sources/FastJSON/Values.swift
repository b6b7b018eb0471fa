// Values of the tape as values of Swift, except the model's containers.

import Foundation

extension CorePointer {
  @inline(__always) func word(_ index: TapeIndex) -> Word { pointee.tape.words[Int(index)] }

  @inline(__always) func isNull(_ index: TapeIndex) -> Bool { word(index).is(.null) }

  // MARK: Scalars

  /// - Parameter place: makes the path of the value, where there is an error.
  @inline(__always) func bool(_ index: TapeIndex, _ place: @autoclosure () -> Place) throws -> Bool {
    let tag = word(index).tag
    if tag == Tag.true.rawValue { return true }
    if tag == Tag.false.rawValue { return false }
    throw notBoolean(index, place())
  }

  @inline(__always) func string(_ index: TapeIndex, _ place: @autoclosure () -> Place) throws -> String {
    guard word(index).is(.string) else { throw mismatch(String.self, index, place()) }
    return pointee.tape.string(at: index)
  }

  @inline(__always) func integer<T: FixedWidthInteger>(
    _ index: TapeIndex, as type: T.Type, _ place: @autoclosure () -> Place
  ) throws -> T {
    let word = word(index)
    guard word.is(.number) else { throw mismatch(type, index, place()) }
    if word & (Word.decimal | Word.inexact) == 0 {
      let significand = pointee.tape.words[Int(index) &+ 1]
      if word & Word.negative == 0 {
        if let value = T(exactly: significand) { return value }
      } else if significand <= 1 << 63, let value = T(exactly: Int64(bitPattern: 0 &- significand)) {
        return value
      }
    }
    guard let value = pointee.tape.slowInteger(index, as: type) else {
      throw unrepresentable(type, index, place())
    }
    return value
  }

  @inline(__always) func double(_ index: TapeIndex, _ place: @autoclosure () -> Place) throws -> Double {
    let word = word(index)
    if word.is(.number), word & Word.inexact == 0 {
      let significand = pointee.tape.words[Int(index) &+ 1]
      if let value = Decimals.double(significand, word.exponent, isNegative: word & Word.negative != 0) { return value }
    }
    return try slowFloat(index, place()) { Double($0) }
  }

  @inline(__always) func float(_ index: TapeIndex, _ place: @autoclosure () -> Place) throws -> Float {
    let word = word(index)
    if word.is(.number), word & Word.inexact == 0 {
      let significand = pointee.tape.words[Int(index) &+ 1]
      if let value = Decimals.float(significand, word.exponent, isNegative: word & Word.negative != 0) { return value }
    }
    return try slowFloat(index, place()) { Float($0) }
  }

  @inline(never) func slowFloat<T: BinaryFloatingPoint>(
    _ index: TapeIndex, _ place: @autoclosure () -> Place, parse: (String) -> T?
  ) throws -> T {
    guard word(index).is(.number) else {
      if let value: T = nonConforming(index) { return value }
      throw mismatch(T.self, index, place())
    }
    let text = pointee.tape.number(at: index)
    // Too large a number becomes infinite, and too small a number zero.
    guard let value = parse(text), value.isFinite, value != 0 || pointee.tape.isZero(index) else {
      throw unrepresentable(T.self, index, place())
    }
    return value
  }

  private func nonConforming<T: BinaryFloatingPoint>(_ index: TapeIndex) -> T? {
    guard word(index).is(.string),
      case .convertFromString(let positive, let negative, let nan) = pointee.strategies.options.floats
    else { return nil }
    switch pointee.tape.string(at: index) {
    case positive: return .infinity
    case negative: return -.infinity
    case nan: return .nan
    default: return nil
    }
  }
}

extension CorePointer {
  // MARK: Foundation's types

  func date(_ value: Position) throws -> Date {
    let (index, place) = (value.index, Place(value))
    guard !isNull(index) else { throw mismatch(Date.self, index, place) }
    switch pointee.strategies.options.dates {
    case .deferredToDate: return Date(timeIntervalSinceReferenceDate: try double(index, place))
    case .secondsSince1970: return Date(timeIntervalSince1970: try double(index, place))
    case .millisecondsSince1970: return Date(timeIntervalSince1970: try double(index, place) / 1_000)
    case .iso8601:
      guard word(index).is(.string) else { throw mismatch(String.self, index, place) }
      if let date = ISO8601Date.fast(pointee.tape.bytes(ofString: index)) { return date }
      guard let date = try? Date.ISO8601FormatStyle().parse(pointee.tape.string(at: index)) else {
        throw corrupted("Expected an ISO 8601 date, such as 2026-11-23T10:00:00Z.", index, place)
      }
      return date
    #if canImport(Darwin)
      case .formatted(let formatter):
        let text = try string(index, place)
        guard let date = formatter.date(from: text) else {
          throw corrupted("Expected a date that the DateFormatter can read, found \"\(text)\".", index, place)
        }
        return date
    #endif
    case .custom(let make): return try within(value) { try make($0) }
    @unknown default:
      throw corrupted("FastJSONDecoder does not support this date decoding strategy; use JSONDecoder.", index, place)
    }
  }

  func data(_ value: Position) throws -> Data {
    let (index, place) = (value.index, Place(value))
    guard !isNull(index) else { throw mismatch(Data.self, index, place) }
    switch pointee.strategies.options.data {
    case .deferredToData: return try within(value) { try Data(from: $0) }
    case .base64:
      guard let data = Data(base64Encoded: try string(index, place)) else {
        throw corrupted("Expected data in base64.", index, place)
      }
      return data
    case .custom(let make): return try within(value) { try make($0) }
    @unknown default:
      throw corrupted("FastJSONDecoder does not support this data decoding strategy; use JSONDecoder.", index, place)
    }
  }

  func url(_ value: Position) throws -> URL {
    let (index, place) = (value.index, Place(value))
    let text = try string(index, place)
    guard let url = URL(string: text) else {
      throw corrupted("Expected a URL, found \"\(text.prefix(64))\".", index, place)
    }
    return url
  }

  func decimal(_ value: Position) throws -> Decimal {
    let (index, place) = (value.index, Place(value))
    let word = word(index)
    guard word.is(.number) else { throw mismatch(Decimal.self, index, place) }
    if word & Word.inexact == 0, word.exponent >= -100, word.exponent <= 100 {
      let significand = Decimal(pointee.tape.words[Int(index) &+ 1])
      if significand == 0 { return 0 }
      return Decimal(
        sign: word & Word.negative != 0 ? .minus : .plus, exponent: word.exponent, significand: significand)
    }
    guard let value = Decimal(string: pointee.tape.number(at: index)), value.isFinite else {
      throw unrepresentable(Decimal.self, index, place)
    }
    return value
  }
}

extension Tape {
  /// The text of a number.
  func number(at index: TapeIndex) -> String {
    String(decoding: numberBytes(at: index), as: UTF8.self)
  }

  private func numberBytes(at index: TapeIndex) -> UnsafeBufferPointer<UInt8> {
    let start = text + words[Int(index)].offset
    var count = 0
    loop: while true {
      switch start[count] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
        UInt8(ascii: "e"), UInt8(ascii: "E"):
        count += 1
      default: break loop
      }
    }
    return UnsafeBufferPointer(start: start, count: count)
  }

  /// Returns whether a number has no digit but 0 before its exponent.
  func isZero(_ index: TapeIndex) -> Bool {
    for byte in numberBytes(at: index) {
      if byte | 0x20 == UInt8(ascii: "e") { return true }
      if byte > 0x30, byte <= 0x39 { return false }
    }
    return true
  }

  /// Returns an integer that is written with a fraction or an exponent, or has more than 19 digits;
  /// `nil` if it is not an integer, or does not fit.
  @inline(never) func slowInteger<T: FixedWidthInteger>(_ index: TapeIndex, as type: T.Type) -> T? {
    if isZero(index) { return 0 }
    let bytes = numberBytes(at: index)
    // Digits up to the exponent, without the zeros at their end.
    var digits: [UInt8] = []
    var exponent = 0
    var isFraction = false
    var rest = bytes[...]
    while let byte = rest.popFirst() {
      if byte | 0x20 == UInt8(ascii: "e") { break }
      if byte == UInt8(ascii: ".") { isFraction = true }
      guard byte >= 0x30 else { continue }
      digits.append(byte & 0x0F)
      if isFraction { exponent -= 1 }
    }
    if !rest.isEmpty {
      let text = String(decoding: rest, as: UTF8.self)
      guard let written = Int(text) else { return nil }
      let (sum, overflows) = exponent.addingReportingOverflow(written)
      if overflows { return nil }
      exponent = sum
    }
    while digits.last == 0 {
      digits.removeLast()
      exponent += 1
    }
    guard exponent >= 0, exponent < 40 else { return nil }
    let isNegative = bytes.first == UInt8(ascii: "-")
    var value: T = 0
    for digit in digits + repeatElement(0, count: exponent) {
      let (product, overflows) = value.multipliedReportingOverflow(by: 10)
      let (next, overflowsToo) =
        isNegative
        ? product.subtractingReportingOverflow(T(truncatingIfNeeded: digit))
        : product.addingReportingOverflow(T(truncatingIfNeeded: digit))
      if overflows || overflowsToo { return nil }
      value = next
    }
    return value
  }
}

/// Decimal to binary, rounded to nearest, ties to even: exact for each significand of 64 bits and
/// the powers of ten that fit into 64 bits, by arithmetic with 128.
enum Decimals {
  private static let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21,
    1e22,
  ]
  /// 5 to the 0th to 27th.
  private static let powersOfFive: [UInt64] = (0...27).map { power in (0..<power).reduce(1) { value, _ in value * 5 } }

  /// - Returns: `nil` where the exponent is out of reach.
  @inline(__always) static func double(_ significand: UInt64, _ exponent: Int, isNegative: Bool) -> Double? {
    if exponent == 0 {
      let value = Double(significand)
      return isNegative ? -value : value
    }
    // Both are exact, so one rounding is left (Clinger 1990).
    if significand <= 1 << 53, exponent >= -22, exponent <= 22 {
      var value = Double(significand)
      if exponent < 0 { value /= powersOfTen[0 &- exponent] } else { value *= powersOfTen[exponent] }
      return isNegative ? -value : value
    }
    guard significand != 0, exponent >= -27, exponent <= 27 else {
      return significand == 0 ? (isNegative ? -0.0 : 0.0) : nil
    }
    // Between 1e-27 and 2e46: normal, so the lead bit is left out; a carry goes into the exponent.
    let (bits, power) = rounded(significand, exponent, to: 53)
    let pattern = UInt64(power &+ 52 &+ 1023) << 52 &+ (bits &- (1 << 52))
    return Double(bitPattern: isNegative ? pattern | 1 << 63 : pattern)
  }

  @inline(__always) static func float(_ significand: UInt64, _ exponent: Int, isNegative: Bool) -> Float? {
    guard significand != 0, exponent >= -27, exponent <= 18 else {
      return significand == 0 ? (isNegative ? -0.0 : 0.0) : nil
    }
    let (bits, power) = rounded(significand, exponent, to: 24)
    return Float(sign: isNegative ? .minus : .plus, exponent: power, significand: Float(bits))
  }

  /// `significand` · 10^`exponent`, rounded to so many bits: the bits, and the power of two that
  /// they are multiplied by.
  @inline(never) private static func rounded(_ significand: UInt64, _ exponent: Int, to bits: Int) -> (UInt64, Int) {
    let shift = significand.leadingZeroBitCount
    let normal = significand << UInt64(shift)
    let five = powersOfFive[abs(exponent)]
    /// The value is (high · 2^64 + low) · 2^power, and a bit more where `isInexact`.
    var (high, low): (UInt64, UInt64)
    var power = exponent - shift
    var isInexact = false
    if exponent >= 0 {
      let product = normal.multipliedFullWidth(by: five)
      (high, low) = (product.high, product.low)
    } else {
      // The divisor has its upper bit set and is greater than the dividend's upper word, so the
      // quotient fits; the dividend has 128 bits, so the quotient has at least 63.
      let divisorShift = five.leadingZeroBitCount
      let divisor = five << UInt64(divisorShift)
      let (quotient, remainder) = divisor.dividingFullWidth((normal >> 1, normal << 63))
      (high, low) = (0, quotient)
      isInexact = remainder != 0
      power -= 63 - divisorShift
    }
    if high == 0 {
      (high, low) = (low, 0)
      power -= 64
    }
    let lead = high.leadingZeroBitCount
    if lead > 0 {
      high = high << UInt64(lead) | low >> UInt64(64 - lead)
      low <<= UInt64(lead)
    }
    power -= lead
    // The value is high · 2^(power + 64), with `low` and `isInexact` below.
    let dropped = UInt64(64 - bits)
    var result = high >> dropped
    let rest = high & (1 << dropped - 1)
    let half: UInt64 = 1 << (dropped - 1)
    let isAboveHalf = rest > half || (rest == half && (low != 0 || isInexact))
    if isAboveHalf || (rest == half && result & 1 == 1) { result += 1 }
    return (result, power + 64 + Int(dropped))
  }
}

/// Dates as in RFC 3339 in UTC, which are most, by arithmetic: `2026-11-23T10:00:00Z`.
enum ISO8601Date {
  /// - Returns: `nil` for anything else, which is not to say that it is wrong.
  static func fast(_ bytes: UnsafeBufferPointer<UInt8>) -> Date? {
    guard bytes.count == 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[10] == UInt8(ascii: "T"),
      bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"), bytes[19] == UInt8(ascii: "Z"),
      let century = pair(bytes, 0), let yearOfCentury = pair(bytes, 2), let month = pair(bytes, 5),
      let day = pair(bytes, 8), let hour = pair(bytes, 11), let minute = pair(bytes, 14), let second = pair(bytes, 17)
    else { return nil }
    let year = century * 100 + yearOfCentury
    // Before that, calendars differ; a leap second is left to who knows them.
    guard year >= 1600, month >= 1, month <= 12, day >= 1, day <= days(in: month, year), hour <= 23, minute <= 59,
      second <= 59
    else { return nil }
    let days = Double(daysSince2001(year, month, day))
    return Date(timeIntervalSinceReferenceDate: days * 86_400 + Double(hour * 3_600 + minute * 60 + second))
  }

  @inline(__always) private static func pair(_ bytes: UnsafeBufferPointer<UInt8>, _ index: Int) -> Int? {
    let (tens, ones) = (bytes[index] &- 0x30, bytes[index + 1] &- 0x30)
    return tens <= 9 && ones <= 9 ? Int(tens) * 10 + Int(ones) : nil
  }

  private static func days(in month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Gregorian; a year begins in March, so that its leap day is the last (Hinnant,
  /// *chrono-compatible low-level date algorithms*).
  private static func daysSince2001(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let (era, yearOfEra) = (year / 400, year % 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 730_791
  }
}
