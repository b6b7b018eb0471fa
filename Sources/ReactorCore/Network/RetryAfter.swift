import Foundation
import HTTPTypes

/// The `Retry-After` field (RFC 9110 §10.2.3).
enum RetryAfter {
  /// How long the server asks to be left alone; `nil` where it says nothing that can be understood.
  static func delay(in fields: HTTPFields, now: Date) -> Duration? {
    fields[values: .retryAfter].lazy.compactMap { delay($0.trimmingCharacters(in: .whitespaces), now) }.first
  }

  private static func delay(_ text: String, _ now: Date) -> Duration? {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard !text.isEmpty, text.utf8.allSatisfy(digits.contains) else {
      return date(text, now: now).map { Duration(saturatingSeconds: $0.timeIntervalSince(now)) }
    }
    return Int64(text).map { .seconds($0) } ?? .never
  }

  /// An HTTP-date in any of its three forms (RFC 9110 §5.6.7).
  ///
  /// - Parameter now: what a year of two digits is understood from.
  static func date(_ text: String, now: Date) -> Date? {
    if let match = text.wholeMatch(of: #/\w{3}, (\d{2}) (\w{3}) (\d{4}) (\d{2}:\d{2}:\d{2}) GMT/#)?.output {
      return date(Int(match.3), match.2, match.1, match.4)
    }
    if let match = text.wholeMatch(of: #/\w{3} (\w{3}) ([ \d]\d) (\d{2}:\d{2}:\d{2}) (\d{4})/#)?.output {
      return date(Int(match.4), match.1, match.2, match.3)
    }
    if let match = text.wholeMatch(of: #/\w{6,9}, (\d{2})-(\w{3})-(\d{2}) (\d{2}:\d{2}:\d{2}) GMT/#)?.output {
      return date(Int(match.3).map { year($0, now) }, match.2, match.1, match.4)
    }
    return nil
  }

  /// The latest year with these digits that is not more than 50 years ahead.
  private static func year(_ digits: Int, _ now: Date) -> Int {
    let latest = calendar.component(.year, from: now) + 50
    let year = latest - latest % 100 + digits
    return year > latest ? year - 100 : year
  }

  private static func date(_ year: Int?, _ month: Substring, _ day: Substring, _ time: Substring) -> Date? {
    let time = time.split(separator: ":").map { Int($0) }
    guard let day = Int(day.drop { $0 == " " }), let month = months.firstIndex(of: String(month)), let hour = time[0],
      let minute = time[1],
      let second = time[2], second <= 60
    else { return nil }
    let components = DateComponents(
      calendar: calendar, year: year, month: month + 1, day: day, hour: hour, minute: minute,
      // A leap second.
      second: min(second, 59))
    return components.isValidDate ? components.date : nil
  }

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  private static let calendar: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    return calendar
  }()
}
