import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The tables of `OutcomesOfAWrite.md`, and the meaning of their cells.
enum OutcomePage {
  static let tables = (try? Repository.markdown(path).tables) ?? []
  private static let path = "Sources/ReactorOutbox/ReactorOutbox.docc/OutcomesOfAWrite.md"

  /// The rows of the tables with these last columns.
  static func rows(_ heading: String...) -> [[String]] {
    tables.filter { $0.heading.suffix(heading.count) == heading[...] }.flatMap(\.rows)
  }

  /// The time at which everything happens: Saturday, 21 November 2026, noon.
  static let now = Date(timeIntervalSince1970: 1_795_262_400)

  /// The parts of a cell: `name: value` or `word`.
  static func parts(_ cell: String) -> [(name: String, value: String)] {
    cell.filter { $0 != "`" }.split(separator: ";").map { part in
      let pair = part.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      return (pair[0], pair.count > 1 ? pair[1] : "")
    }
  }
}

/// An unknown cell.
struct UnknownCell: Error {
  var text: String
}

extension SendOutcome.Attempt {
  /// `key; attempt: 2; If-Match`.
  init(cell: String) throws {
    self.init()
    for (name, value) in OutcomePage.parts(cell) {
      switch name {
      case "key": isKeyed = true
      case "If-Match": hasIfMatch = true
      case "attempt": number = Int(value) ?? 0
      case "redirect": route.redirect = Int(value)
      case "slash": route.hasMoved = true
      case "other origin": route.isFromOtherOrigin = true
      case "web page": route.isWebPage = true
      case "unsigned": latest = .unsigned
      case "before": latest = .none
      case "lost": failures = [URLError(.timedOut), URLError(.cannotConnectToHost)]
      case "after": latest = .answered(HTTPResponse(status: .init(code: Int(value) ?? 0)))
      default: throw UnknownCell(text: cell)
      }
    }
  }
}

extension SendOutcome {
  /// The outcome in the words of the page.
  var words: String {
    switch self {
    case .later(let duration?): "later: \(duration.components.seconds)"
    case .signIn: "sign in"
    default: kind.rawValue
    }
  }
}

extension Result<HTTPResponse, ReactorError> {
  /// `503; Retry-After: 120`, or an error.
  init(cell: String) throws {
    var parts = OutcomePage.parts(cell)
    guard let status = parts.first.flatMap({ Int($0.name) }) else {
      self = .failure(try ReactorError(words: cell.filter { $0 != "`" }))
      return
    }
    parts.removeFirst()
    var response = HTTPResponse(status: .init(code: status))
    for (name, value) in parts {
      guard let name = HTTPField.Name(name) else { throw UnknownCell(text: cell) }
      response.headerFields[name] = Self.value(value)
    }
    self = .success(response)
  }

  /// `+60` and `-60` are dates.
  private static func value(_ text: String) -> String {
    guard text.hasPrefix("+") || text.hasPrefix("-"), let seconds = Double(text) else { return text }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter.string(from: OutcomePage.now + seconds)
  }
}

extension ReactorError {
  init(words: String) throws {
    if words.hasPrefix("nested: ") {
      self = .network(try ReactorError(words: String(words.dropFirst(8))))
      return
    }
    if words.hasPrefix("server error: "), let code = Int(words.dropFirst(14)) {
      self = .server(HTTPResponse(status: .init(code: code)), body: Data())
      return
    }
    switch words {
    case "no connectivity": self = .noConnectivity
    case "timed out": self = .timedOut
    case "cancelled": self = .cancelled
    case "invalid resource": self = .invalidResource("")
    case "unreadable": self = .parser(ParserError(.notJSON, expected: "expected JSON"))
    case "authentication": self = .authentication(CocoaError(.coderInvalidValue))
    case "not connected": self = .network(TransportError.notConnected(""))
    case "connection lost": self = .network(TransportError.connectionFailed(""))
    case "response too large": self = .network(TransportError.responseTooLarge(limit: 1))
    case "too many redirects": self = .network(TransportError.tooManyRedirects(limit: 1))
    case "bad URL": self = .network(URLError(.badURL))
    case "cannot find host": self = .network(URLError(.cannotFindHost))
    case "cannot connect to host": self = .network(URLError(.cannotConnectToHost))
    case "untrusted certificate": self = .network(URLError(.serverCertificateUntrusted))
    case "ECONNREFUSED": self = .network(POSIXError(.ECONNREFUSED))
    case "ECONNRESET": self = .network(POSIXError(.ECONNRESET))
    case "another error": self = .network(CocoaError(.coderInvalidValue))
    default: throw UnknownCell(text: words)
    }
  }
}
