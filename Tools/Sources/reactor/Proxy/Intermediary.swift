import Foundation
import HTTPTypes

/// The duties of an intermediary beside caching: `Via`, `Max-Forwards` and `Date` (RFC 9110 §6.6.1,
/// §7.6).
enum Intermediary {
  /// Returns the proxy's own answer to a request that is not forwarded; `nil` if the request is
  /// forwarded.
  ///
  /// A request that has come through this proxy before is a 508. An OPTIONS or TRACE with
  /// `Max-Forwards: 0` ends here (§7.6.2).
  static func answer(to request: HTTPRequest, named name: String) -> ProxyResponse? {
    if request.headerFields.hasVia(name) { return ProxyResponse(own: .loopDetected, detail: "loop") }
    guard maxForwards(of: request) == 0 else { return nil }
    guard request.method == .trace else {
      return ProxyResponse(
        own: .ok, [.allow: "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE"], detail: "max-forwards")
    }
    return ProxyResponse(
      own: .ok, [.contentType: "message/http"], body: Data(FieldBytes.restored(text(of: request).utf8)),
      detail: "max-forwards")
  }

  /// Prepares a request for the next recipient.
  ///
  /// - Parameters:
  ///   - request: The request, with the fields that are sent on.
  ///   - version: The version of HTTP in which the request was received.
  ///   - name: The name of the proxy in `Via`.
  static func prepare(_ request: inout HTTPRequest, received version: String, named name: String) {
    if let rest = maxForwards(of: request) { request.headerFields[.maxForwards] = "\(rest - 1)" }
    // The next recipient writes the request into its answer (§9.3.8).
    if request.method == .trace { request.headerFields = request.headerFields.withoutCredentials }
    request.headerFields.addVia(version: version, name: name)
  }

  /// Returns how often an OPTIONS or TRACE may be sent on; `nil` for no limit. For other methods,
  /// the field has no meaning.
  private static func maxForwards(of request: HTTPRequest) -> UInt64? {
    guard request.method == .options || request.method == .trace,
      let text = request.headerFields[.maxForwards], !text.isEmpty,
      text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return UInt64(text) ?? .max
  }

  /// Returns a request as it was received, without credentials.
  private static func text(of request: HTTPRequest) -> String {
    let fields = request.headerFields.withoutCredentials.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
    return "\(request.method.rawValue) \(request.path ?? "*") HTTP/1.1\r\n\(fields)\r\n"
  }
}

/// The name of a proxy in `Via`.
enum ViaName {
  /// Returns a name that no other proxy has, so that a loop is found by it.
  static func random() -> String { "reactor-" + String(UInt64.random(in: .min ... .max), radix: 36) }
}

extension HTTPFields {
  /// Adds the proxy to `Via` (RFC 9110 §7.6.3).
  mutating func addVia(version: String, name: String) {
    append(HTTPField(name: .via, value: "\(version) \(name)"))
  }

  /// Returns a Boolean value that indicates whether the message has come through the proxy of this
  /// name.
  fileprivate func hasVia(_ name: String) -> Bool {
    guard contains(.via) else { return false }
    return self[values: .via].contains { value in
      value.split(separator: ",").contains { $0.split(whereSeparator: \.isWhitespace).dropFirst().first == name[...] }
    }
  }

  /// Adds the time at which a message was received, if it has no `Date` (§6.6.1).
  mutating func addDate(_ date: Date) {
    if !contains(.date) { self[.date] = ServerDate.text(date) }
  }

  fileprivate var withoutCredentials: HTTPFields {
    filter { ![.authorization, .proxyAuthorization, .cookie].contains($0.name) }
  }
}

/// A time as a field says it (RFC 9110 §5.6.7).
enum ServerDate {
  static func text(_ date: Date) -> String {
    var seconds = time_t(max(-62_135_596_800, min(253_402_300_799, date.timeIntervalSince1970)).rounded(.down))
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(two).joined(separator: ":")
    let year = String(parts.tm_year + 1900)
    let padded = String(repeating: "0", count: max(0, 4 - year.count)) + year
    return "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(padded) \(clock) GMT"
  }

  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}

extension HTTPResponse.Status {
  fileprivate static let loopDetected = HTTPResponse.Status(code: 508, reasonPhrase: "Loop Detected")
}
