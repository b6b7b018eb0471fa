package import Foundation
import HTTPTypes

/// A date in a field (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT` or one of the two obsolete
/// forms.
///
/// The names of days and months may be in any case. Everything else must match the grammar. The
/// name of the day is required but may be the wrong one. Seconds may be 60, for a leap second.
package enum HTTPDate {
  /// Returns the date in `text`, or `nil` if the text is not a date.
  ///
  /// - Parameter now: The time near which a year of two digits lies. A year that would be more than
  ///   50 years ahead is in the past (§5.6.7).
  package static func parse(_ text: String, now: Date) -> Date? {
    var text = text
    return text.withUTF8 { parse($0, now) }
  }

  private static func parse(_ bytes: UnsafeBufferPointer<UInt8>, _ now: Date) -> Date? {
    var reader = HTTPDateReader(bytes)
    guard let name = reader.word() else { return nil }
    guard reader.skip(",") else { return asctime(name, &reader) }
    return name.count == 3 ? fixdate(name, &reader) : rfc850(name, &reader, now)
  }

  /// Returns the preferred form of a date, rounded down to seconds. The years are limited to 1
  /// through 9999.
  package static func format(_ date: Date) -> String {
    let seconds = Int64(max(-62_135_596_800, min(253_402_300_799, date.timeIntervalSince1970)).rounded(.down))
    let day = seconds.floorDivided(by: 86_400)
    let civil = CivilDate(daysSince1970: day)
    let time = Int(seconds - day * 86_400)
    let weekday = Int((day + 4) - (day + 4).floorDivided(by: 7) * 7)
    let clock = [time / 3_600, time / 60 % 60, time % 60].map(twoDigits).joined(separator: ":")
    let year = String(civil.year)
    let padded = String(repeating: "0", count: max(0, 4 - year.count)) + year
    return "\(days[weekday].prefix(3)), \(twoDigits(civil.day)) \(months[civil.month - 1]) \(padded) \(clock) GMT"
  }

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func fixdate(_ name: String, _ reader: inout HTTPDateReader) -> Date? {
    guard days.contains(where: { $0.prefix(3).lowercased() == name }), reader.skip(" "),
      let day = reader.number(2), reader.skip(" "), let month = month(&reader), reader.skip(" "),
      let year = reader.number(4), reader.skip(" "), let time = reader.time(), reader.skip(" GMT"), reader.isAtEnd
    else { return nil }
    return date(year, month, day, time)
  }

  private static func rfc850(_ name: String, _ reader: inout HTTPDateReader, _ now: Date) -> Date? {
    guard days.contains(where: { $0.lowercased() == name }), reader.skip(" "), let day = reader.number(2),
      reader.skip("-"), let month = month(&reader), reader.skip("-"), let short = reader.number(2), reader.skip(" "),
      let time = reader.time(), reader.skip(" GMT"), reader.isAtEnd
    else { return nil }
    let days = max(-719_162, min(2_932_896, now.timeIntervalSince1970 / 86_400))
    let latest = CivilDate(daysSince1970: Int64(days)).year + 50
    let year = latest - latest % 100 + short
    return date(year > latest ? year - 100 : year, month, day, time)
  }

  private static func asctime(_ name: String, _ reader: inout HTTPDateReader) -> Date? {
    guard days.contains(where: { $0.prefix(3).lowercased() == name }), reader.skip(" "), let month = month(&reader),
      reader.skip(" "), let day = reader.skip(" ") ? reader.number(1) : reader.number(2), reader.skip(" "),
      let time = reader.time(), reader.skip(" "), let year = reader.number(4), reader.isAtEnd
    else { return nil }
    return date(year, month, day, time)
  }

  private static func month(_ reader: inout HTTPDateReader) -> Int? {
    guard let name = reader.word() else { return nil }
    return months.firstIndex { $0.lowercased() == name }.map { $0 + 1 }
  }

  private static func date(_ year: Int, _ month: Int, _ day: Int, _ seconds: Int) -> Date? {
    guard let civil = CivilDate(year: year, month: month, day: day) else { return nil }
    return Date(timeIntervalSince1970: Double(civil.daysSince1970 * 86_400 + Int64(seconds)))
  }

  private static let days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}

extension Record.Head {
  /// Returns the date in a field, or `nil` if the field is missing, repeated or not a date.
  package func date(_ name: HTTPField.Name) -> Date? { fields[name].flatMap { HTTPDate.parse($0, now: receivedAt) } }
}

/// A cursor over the text of a date.
private struct HTTPDateReader {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var offset = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  var isAtEnd: Bool { offset == bytes.count }

  /// Reads letters and returns them in lower case.
  mutating func word() -> String? {
    let letters = bytes[offset...].prefix { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0.asciiLowercased) }
    offset += letters.count
    return letters.isEmpty ? nil : String(decoding: letters.map(\.asciiLowercased), as: UTF8.self)
  }

  /// Skips `text`, in any case. Returns `false` and stays in place if other text follows.
  mutating func skip(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard bytes.count - offset >= count,
      (0..<count).allSatisfy({ bytes[offset + $0].asciiLowercased == text.utf8Start[$0].asciiLowercased })
    else { return false }
    offset += count
    return true
  }

  /// Reads exactly `count` digits.
  mutating func number(_ count: Int) -> Int? {
    guard bytes.count - offset >= count else { return nil }
    let digits = bytes[offset..<offset + count]
    guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    offset += count
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// Reads a time of day and returns it in seconds.
  mutating func time() -> Int? {
    guard let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2), hour < 24,
      minute < 60, second <= 60
    else { return nil }
    return hour * 3_600 + minute * 60 + second
  }
}

/// A day of the proleptic Gregorian calendar, by arithmetic. The platform's calendars take
/// microseconds for each date.
///
/// Source: Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*.
struct CivilDate: Hashable {
  let year: Int
  let month: Int
  let day: Int

  /// Creates a day, or returns `nil` if the calendar does not have it.
  init?(year: Int, month: Int, day: Int) {
    guard (1...12).contains(month), day >= 1, day <= Self.length(of: month, in: year) else { return nil }
    self.year = year
    self.month = month
    self.day = day
  }

  init(daysSince1970 days: Int64) {
    let shifted = days + 719_468
    let era = shifted.floorDivided(by: 146_097)
    let dayOfEra = Int(shifted - era * 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    // The months are counted from March.
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + Int(era) * 400 + (month <= 2 ? 1 : 0)
  }

  var daysSince1970: Int64 {
    let shiftedYear = Int64(month <= 2 ? year - 1 : year)
    let era = shiftedYear.floorDivided(by: 400)
    let yearOfEra = Int(shiftedYear - era * 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + Int64(dayOfEra) - 719_468
  }

  private static func length(of month: Int, in year: Int) -> Int {
    guard month != 2 else { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
    return [4, 6, 9, 11].contains(month) ? 30 : 31
  }
}

extension Int64 {
  /// Returns the quotient, rounded towards negative infinity.
  func floorDivided(by divisor: Int64) -> Int64 {
    let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? quotient - 1 : quotient
  }
}
