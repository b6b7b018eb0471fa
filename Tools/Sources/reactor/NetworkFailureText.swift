import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Plain words for error codes of `URLSession`.
enum NetworkFailureText {
  /// Returns the text, or `nil` if the error's own description is good enough.
  static func text(_ error: any Error) -> String? {
    guard let code = (error as? URLError)?.code else { return nil }
    let words: String? =
      switch code {
      case .cannotConnectToHost: "no server listens at that host and port; check the URL"
      case .cannotFindHost, .dnsLookupFailed: "the host was not found; check the URL and the connection"
      case .networkConnectionLost: "the connection was lost before the response was complete; try again"
      case .httpTooManyRedirects: "too many redirects; check the URL"
      case .badURL: "the system's URLSession does not accept this URL; on Linux, it accepts no IPv6 addresses"
      case .badServerResponse, .cannotParseResponse:
        "the response is not HTTP; check the scheme and the port of the URL"
      case .secureConnectionFailed:
        "the secure connection failed; check the server's TLS, or use http for a test server"
      default: nil
      }
    return words.map { "network: \($0) (URLError \(code.rawValue))" }
  }
}
