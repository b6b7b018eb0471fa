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
      case .cannotConnectToHost: "no server listens at that host and port"
      case .cannotFindHost, .dnsLookupFailed: "the host's name does not resolve"
      case .networkConnectionLost: "the connection was lost before the answer was complete"
      case .httpTooManyRedirects: "too many redirects"
      case .badURL: "the system's URLSession does not accept this URL; on Linux, it accepts no IPv6 addresses"
      case .badServerResponse, .cannotParseResponse: "the response is not HTTP"
      case .secureConnectionFailed: "the secure connection failed"
      default: nil
      }
    return words.map { "network: \($0) (URLError \(code.rawValue))" }
  }
}
