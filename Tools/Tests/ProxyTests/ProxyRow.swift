import Foundation
import ReactorTesting
import Testing

/// One rule, seen from outside: requests through a proxy, one after the other.
struct ProxyRow: Sendable, CustomTestStringConvertible {
  let rule: String
  var isStaleOnDisconnect = false
  let steps: [Step]

  init(_ rule: String, staleOnDisconnect: Bool = false, _ steps: [Step]) {
    self.rule = rule
    isStaleOnDisconnect = staleOnDisconnect
    self.steps = steps
  }

  var testDescription: String { rule }

  /// One request. Messages are written `status or method; Name: value; Name: value | body`; `+60`
  /// and `-60` as a value are dates, in seconds from the beginning.
  struct Step: Sendable {
    let age: Double
    let request: String
    let answer: String?
    let gets: String
    let sent: String

    /// - Parameters:
    ///   - request: a method, and a path where it is not `/a`.
    ///   - answer: the origin's; `nil` where it is not to be asked, `-` where it hangs up.
    ///   - gets: what the client is to get: the status, fields that are there, names with `!`
    ///     before them of fields that are not, and the body.
    ///   - sent: fields that the origin is to get, written in the same way.
    init(_ age: Double, _ request: String, _ answer: String?, gets: String, sent: String = "") {
      self.age = age
      self.request = request
      self.answer = answer
      self.gets = gets
      self.sent = sent
    }
  }
}

/// A message in a row.
struct RowMessage: Sendable {
  var first: String
  /// Only a name, if the field must be missing.
  var fields: [(name: String, value: String?)] = []
  var body = ""

  init(_ text: String) {
    let halves = text.components(separatedBy: " | ")
    body = halves.count > 1 ? halves[1] : ""
    let parts = halves[0].components(separatedBy: "; ")
    first = parts[0]
    fields = parts.dropFirst().map { part in
      guard let colon = part.range(of: ": ") else { return (String(part.drop { $0 == "!" }), nil) }
      return (String(part[..<colon.lowerBound]), Self.value(String(part[colon.upperBound...])))
    }
  }

  /// As the origin sends it: with the body's length, where there may be a body.
  var response: MockServer.Response {
    guard first != "-" else { return .close }
    var lines = ["HTTP/1.1 \(first) Words"] + fields.map { "\($0.name): \($0.value ?? "")" }
    if first != "304", first != "204" { lines.append("Content-Length: \(body.utf8.count)") }
    return .raw(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
  }

  private static func value(_ text: String) -> String {
    guard let sign = text.first, sign == "+" || sign == "-", let seconds = Double(text) else { return text }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter.string(from: ProxyBench.start.addingTimeInterval(seconds))
  }
}
