import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What may be said aloud about something that can hold a secret.
enum Redaction {
  /// Header fields that no record, event or description holds.
  static let secretFields: Set<HTTPField.Name> = [
    .authorization, .proxyAuthorization, .cookie, .setCookie,
  ]

  /// An error in the words that its author chose, or else the name of its type and case.
  ///
  /// What an error carries is not printed: it may be a URL, a response, or another error with either in its `userInfo`.
  static func describe(_ error: any Error) -> String {
    if let error = error as? URLError { return "URLError \(error.code.rawValue)" }
    if error is any CustomNSError || type(of: error) is NSError.Type {
      let error = error as NSError
      return "\(error.domain) \(error.code)"
    }
    if let text = (error as? any LocalizedError)?.errorDescription { return withoutQueries(text) }
    let value: Any = error
    if value is any CustomStringConvertible || value is any CustomDebugStringConvertible {
      return withoutQueries(String(describing: error))
    }
    return name(of: error)
  }

  private static func name(of error: any Error) -> String {
    let type = "\(type(of: error))"
    let mirror = Mirror(reflecting: error)
    guard mirror.displayStyle == .enum else { return type }
    return "\(type).\(mirror.children.first?.label ?? "\(error)")"
  }

  /// `text` without the queries of its URLs.
  private static func withoutQueries(_ text: String) -> String {
    text.replacing(#/(https?://[^\s?"'<>]*)\?[^\s"'<>]*/#.ignoresCase()) { "\($0.output.1)?…" }
  }
}
