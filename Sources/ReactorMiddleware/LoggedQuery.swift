import Foundation

/// The query of a URL as a log shows it: the names of its items, and the numbers of paging items.
///
/// A value can be a token, a name or an illness, and only its own API knows which. The number of a
/// paging item is not secret, and distinguishes the lines of one list.
struct LoggedQuery {
  /// `?` and the items; empty if there is no query.
  let text: String

  /// The number of items that are shown.
  private static let mostItems = 16
  private static let longestName = 32
  private static let longestNumber = 9

  /// - Parameters:
  ///   - path: The path of a request, with its query.
  ///   - numbers: The names of the items whose numbers are shown, in lower case.
  ///   - secrets: The names of the items whose values are never shown, in lower case.
  init(path: String, numbers: Set<String>, secrets: Set<String>) {
    guard let mark = path.firstIndex(where: { $0 == "?" || $0 == "#" }) else {
      text = ""
      return
    }
    let query = path[mark...].dropFirst().prefix { $0 != "#" }
    guard path[mark] == "?", !query.isEmpty else {
      text = "?…"
      return
    }
    // Not at a semicolon, which some servers take for a part of the value.
    let items = query.split(separator: "&", omittingEmptySubsequences: false)
    let shown = items.prefix(Self.mostItems).map { Self.shown($0, numbers, secrets) }
    text = "?" + shown.joined(separator: "&") + (items.count > Self.mostItems ? "&…" : "")
  }

  private static func shown(_ item: Substring, _ numbers: Set<String>, _ secrets: Set<String>) -> String {
    // Without a value, the name may be one.
    guard let equals = item.firstIndex(of: "="), let name = name(item[..<equals]) else { return "…" }
    let (key, value) = (name.lowercased(), item[equals...].dropFirst())
    // So does the padding of a base64 token.
    guard let first = value.first, first != "=" else { return "…" }
    let isShown = numbers.contains(key) && !secrets.contains(key) && isNumber(value)
    return "\(name)=\(isShown ? String(value) : "…")"
  }

  /// Returns the name without its percent-encoding; `nil` for what does not look like a name.
  private static func name(_ encoded: Substring) -> String? {
    guard let name = String(encoded).removingPercentEncoding, name.count <= longestName, let first = name.utf8.first,
      isLetter(first) || first == UInt8(ascii: "_"),
      name.utf8.allSatisfy({ isLetter($0) || isDigit($0) || "_-.[]".utf8.contains($0) })
    else { return nil }
    return name
  }

  private static func isNumber(_ value: Substring) -> Bool {
    (1...longestNumber).contains(value.utf8.count) && value.utf8.allSatisfy(isDigit)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
