import Foundation
import HTTPTypes
import Synchronization

/// The servers of a layer that do not take a QUERY (RFC 10008) as it is sent. Each is remembered
/// for a day, so that one request in a day asks whether that is still so.
final class QuerySupport: Sendable {
  /// A way in which a server does not take a QUERY.
  enum Lack: Hashable, Sendable {
    /// It answers 412 to the validators of a stored copy, as RFC 9110 §13.1.2 asks of all methods
    /// but GET and HEAD. RFC 10008 §2.6 asks for a 304.
    case conditions(authority: String)
    /// It does not know the method here.
    case method(authority: String, path: String)
  }

  private static let (lifetime, limit) = (Duration.seconds(86_400), 256)

  private let elapsed: @Sendable () -> Duration
  /// The time at which each lack is forgotten, and the order in which they were found.
  private let found = Mutex<[(lack: Lack, until: Duration)]>([])

  init(elapsed: @escaping @Sendable () -> Duration) { self.elapsed = elapsed }

  func note(_ lack: Lack) {
    let until = elapsed() + Self.lifetime
    found.withLock { found in
      found.removeAll { $0.lack == lack }
      if found.count >= Self.limit { found.removeFirst() }
      found.append((lack, until))
    }
  }

  func forget(_ lack: Lack) { found.withLock { found in found.removeAll { $0.lack == lack } } }

  func contains(_ lack: Lack) -> Bool {
    let now = elapsed()
    return found.withLock { found in found.contains { $0.lack == lack && now < $0.until } }
  }
}

extension QuerySupport.Lack {
  static func conditions(of request: HTTPRequest) -> Self { .conditions(authority: request.authority ?? "") }

  static func method(of request: HTTPRequest) -> Self {
    let path = request.path?.prefix { $0 != "?" } ?? ""
    return .method(authority: request.authority ?? "", path: String(path))
  }
}

extension HTTPResponse {
  /// A Boolean value that indicates whether the server does not know QUERY here: a 501, or a 405
  /// whose `Allow` does not name it. A 400, 404, 415 or 422 says nothing of the method.
  var lacksQuery: Bool {
    switch status.code {
    case 501: true
    case 405:
      !headerFields[values: .allow].joined(separator: ",").split(separator: ",")
        .contains { $0.trimmingCharacters(in: .whitespaces) == "QUERY" }
    default: false
    }
  }

  /// The advice for a QUERY that was refused; `nil` if the status says nothing of the method or of
  /// the body's type.
  var queryAdvice: String? {
    if lacksQuery {
      let allowed = Self.shown(headerFields[values: .allow])
      return "the server does not support QUERY here\(allowed.isEmpty ? "" : "; it allows \(allowed)")"
        + "; if its POST only reads, set the resource's fallbackMethod to .post"
    }
    guard status == .unsupportedMediaType else { return nil }
    let fields: [(String, HTTPField.Name?)] = [("Accept-Query", HTTPField.Name("Accept-Query")), ("Accept", .accept)]
    for case (let text, let name?) in fields {
      let types = Self.shown(headerFields[values: name])
      if !types.isEmpty { return "the server takes \(types) here (\(text))" }
    }
    return "set a Content-Type that the server takes"
  }

  /// Returns a list of the server for the text of an error: at most 160 characters.
  private static func shown(_ values: [String]) -> String {
    String(values.joined(separator: ", ").filter { $0 != "\"" }.prefix(160))
  }
}
