public import Foundation
public import HTTPCaching
public import HTTPTypes

/// The meaning of the cells in the tables of `Rules.md`.
public enum CachingExample {
  /// The time of every stored response: Saturday, 21 November 2026, noon.
  public static let time = Date(timeIntervalSince1970: 1_795_262_400)

  /// A cell without its backticks.
  public static func plain(_ cell: String) -> String { cell.filter { $0 != "`" } }

  /// `200; Name: value; Name: value`, each part of which may be missing.
  public static func head(_ cell: String) -> Record.Head {
    var (first, fields) = parts(cell)
    let invalidated = HTTPField.Name("Invalidated").flatMap { fields[$0] }.flatMap { Double($0) }
    if let name = HTTPField.Name("Invalidated") { fields[name] = nil }
    return Record.Head(
      identity: "", status: .init(code: first.flatMap { Int($0) } ?? 200), fields: fields, requestedAt: time,
      receivedAt: time, invalidatedAt: invalidated.map { time.addingTimeInterval($0) })
  }

  /// `GET /a?b; Name: value; Name: value`, each part of which may be missing.
  public static func request(_ cell: String) -> HTTPRequest {
    var (first, fields) = parts(cell)
    fields[bodyName] = nil
    var words = first?.split(separator: " ").map(String.init) ?? []
    let target = words.last.flatMap { $0.hasPrefix("/") || $0.hasPrefix("?") ? $0 : nil }
    if target != nil { words.removeLast() }
    return HTTPRequest(
      method: words.first.flatMap { HTTPRequest.Method(rawValue: $0) } ?? .get, scheme: "https",
      authority: "api.example.com", path: target.map { $0.hasPrefix("?") ? "/a\($0)" : $0 } ?? "/a",
      headerFields: fields)
  }

  /// The content of a request: its part `Body`, which is no field.
  public static func body(_ cell: String) -> Data? { parts(cell).fields[bodyName].map { Data($0.utf8) } }

  private static let bodyName = HTTPField.Name("Body") ?? .accept

  private static func parts(_ cell: String) -> (first: String?, fields: HTTPFields) {
    var parts = plain(cell).split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
    let first = parts.first.map { $0.contains(":") } == false ? parts.removeFirst() : nil
    var fields: HTTPFields = [:]
    for part in parts {
      guard let colon = part.range(of: ":"), let name = HTTPField.Name(String(part[..<colon.lowerBound])) else {
        continue
      }
      fields.append(HTTPField(name: name, value: value(part[colon.upperBound...].trimmingCharacters(in: .whitespaces))))
    }
    return (first, fields)
  }

  /// `+60` and `-60` are dates.
  private static func value(_ text: String) -> String {
    guard text.hasPrefix("+") || text.hasPrefix("-"), let seconds = Double(text) else { return text }
    return HTTPDate.format(time.addingTimeInterval(seconds))
  }
}
