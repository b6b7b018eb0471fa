import Foundation
import HTTPTypes
import ReactorCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A failure in words: what happened, and what to do at the command line.
struct FailureText: Sendable {
  let what: String
  let advice: String?

  /// Creates the words for an error of `URLSession`; `nil` if the library's are good enough.
  ///
  /// - Parameter isUnsafe: `true` for a request that changes something on the server.
  init?(_ error: URLError, isUnsafe: Bool) {
    let (what, advice): (String, String)
    switch error.code {
    case .cannotConnectToHost:
      (what, advice) = ("no server listens at that host and port", Self.unsent("check the URL", isUnsafe))
    case .cannotFindHost, .dnsLookupFailed:
      (what, advice) = ("the host was not found", Self.unsent("check the URL and the connection", isUnsafe))
    case .networkConnectionLost:
      (what, advice) = (
        "the connection was lost before the response was complete", isUnsafe ? Self.doubt : "try again"
      )
    case .httpTooManyRedirects: (what, advice) = ("too many redirects", "check the URL")
    case .badURL:
      (what, advice) = (
        "the system's URLSession does not accept this URL", "on Linux, write a host's name and no IPv6 address"
      )
    case .badServerResponse, .cannotParseResponse:
      // Also a connection that the server closes without an answer, on Linux.
      (what, advice) = (
        "the response is not HTTP",
        "check the scheme and the port of the URL" + (isUnsafe ? "; if they are right, \(Self.doubt)" : "")
      )
    case .secureConnectionFailed:
      (what, advice) = ("the secure connection failed", "check the server's TLS, or use http for a test server")
    case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
      .serverCertificateHasUnknownRoot:
      (what, advice) = ("the server's certificate is not trusted", "check the host's name and the certificate")
    default: return nil
    }
    self.init(what: "\(what) (URLError \(error.code.rawValue))", advice: advice)
  }

  private init(what: String, advice: String?) {
    self.what = what
    self.advice = advice
  }

  static func noConnectivity(isUnsafe: Bool) -> FailureText {
    FailureText(what: "no connectivity, so nothing was sent", advice: unsent("try again when online", isUnsafe))
  }

  static func timedOut(isUnsafe: Bool) -> FailureText {
    FailureText(
      what: "timed out", advice: isUnsafe ? doubt : "try again, or give more time with --timeout")
  }

  static let notCached = FailureText(
    what: "not cached: the store has nothing for this request", advice: "choose a --policy that contacts the server")

  static func answered(_ status: HTTPResponse.Status) -> FailureText {
    let advice: String? =
      switch status.code {
      case 400, 415, 422: "check the query, the fields and the body"
      case 401: "check the credential, as in --header 'Authorization: …'"
      case 403: "check what the credential allows"
      case 404, 410: "check the URL"
      case 405: "check --method"
      case 429: "wait before the next request"
      case 500...599: "try again later"
      default: nil
      }
    return FailureText(what: "the server answered \(status.code)", advice: advice)
  }

  /// Creates the words for a response that cannot be used. The place in it comes last, since it
  /// ends with the response's own bytes.
  static func unreadable(_ error: ParserError, isUnsafe: Bool) -> FailureText {
    let subject = isUnsafe ? "the server accepted the request, and its response" : "the response"
    let what =
      switch error.reason {
      case .empty, .notJSON: "\(subject) is not JSON, so check the URL"
      case .missing, .wrongType: "\(subject) cannot be read, so check --key-path and --require"
      default: "\(subject) cannot be read"
      }
    return FailureText(what: "\(what): \(error)", advice: nil)
  }

  /// A failure before anything was sent.
  private static func unsent(_ advice: String, _ isUnsafe: Bool) -> String {
    isUnsafe ? "\(advice), or save the request with reactor send" : advice
  }

  /// A failure after which it is unknown what the server has done.
  static let doubt = "the server may have carried it out, so check before you send it again"
}
