import Foundation
import HTTPTypes

/// The directives of a response's `Cache-Control` (RFC 9111 §5.2.2, RFC 5861 §3 and §4).
struct CacheControl: Sendable, Hashable {
  var maxAge: Duration?
  var isNoStore = false
  var isNoCache = false
  var isMustRevalidate = false
  var staleWhileRevalidate: Duration?
  var staleIfError: Duration?

  init(_ fields: HTTPFields) {
    for directive in fields[values: .cacheControl].flatMap(Self.elements) {
      let parts = directive.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      let argument = parts.count > 1 ? parts[1].trimmingCharacters(in: CharacterSet(charactersIn: "\"")) : nil
      switch parts.first?.lowercased() {
      case "max-age": maxAge = maxAge ?? Self.deltaSeconds(argument)
      case "no-store": isNoStore = true
      case "no-cache": isNoCache = true
      case "must-revalidate": isMustRevalidate = true
      case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? Self.deltaSeconds(argument)
      case "stale-if-error": staleIfError = staleIfError ?? Self.deltaSeconds(argument)
      default: break
      }
    }
  }

  /// The elements of a list: a comma inside of a quoted string separates nothing (RFC 9110 §5.6.4).
  private static func elements(_ list: String) -> [String] {
    var isQuoted = false
    var isEscaped = false
    let elements = list.unicodeScalars.split { scalar in
      defer { isEscaped = isQuoted && scalar == "\\" && !isEscaped }
      if scalar == "\"", !isEscaped { isQuoted.toggle() }
      return scalar == "," && !isQuoted
    }
    return elements.map { String($0) }
  }

  /// RFC 9111 §1.2.2: what overflows is the greatest value; what is no number counts as stale (§4.2.1).
  static func deltaSeconds(_ text: String?) -> Duration {
    guard let text, !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return .zero }
    return .seconds(min(Int64(text) ?? .max, 1 << 31))
  }
}
