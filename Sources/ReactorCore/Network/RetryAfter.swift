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
      return HTTPDate.parse(text, now: now).map { Duration(saturatingSeconds: $0.timeIntervalSince(now)) }
    }
    return Int64(text).map { .seconds($0) } ?? .never
  }
}
