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

  /// An error without the URL that Foundation's errors carry in their `userInfo`.
  static func describe(_ error: any Error) -> String {
    if let error = error as? URLError { return "URLError \(error.code.rawValue)" }
    if error is CocoaError {
      let error = error as NSError
      return "\(error.domain) \(error.code)"
    }
    return String(describing: error)
  }
}
