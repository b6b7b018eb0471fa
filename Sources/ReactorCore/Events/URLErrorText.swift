import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Plain words for the number of a `URLError`, and advice.
struct URLErrorText {
  /// The event, in words.
  let reason: String
  /// The remedy; `nil` where there is nothing to say.
  let advice: String?

  init(_ error: URLError) {
    let words = Self.words(error.code)
    reason = words.map { "\($0.reason) (URLError \(error.code.rawValue))" } ?? "URLError \(error.code.rawValue)"
    advice = words?.advice
  }

  private static func words(_ code: URLError.Code) -> (reason: String, advice: String)? {
    switch code {
    case .cannotFindHost, .dnsLookupFailed:
      ("the host was not found", "check the base URL and the connection")
    case .cannotConnectToHost:
      ("nothing accepts connections at that host and port", "check the base URL, and that the server runs")
    case .networkConnectionLost:
      ("the connection was lost before the response was complete", "try again")
    case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff:
      ("there is no connection to the Internet", "try again when the device is online")
    case .timedOut: ("the server did not answer in time", "try again")
    case .httpTooManyRedirects: ("the server redirected too often", "check the base URL and the path")
    case .badServerResponse, .cannotParseResponse:
      ("the answer is not HTTP", "check the base URL's scheme and port")
    case .secureConnectionFailed:
      ("the secure connection failed", "check the server's TLS, or use http for a test server")
    case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
      .serverCertificateHasUnknownRoot:
      ("the server's certificate is not trusted", "check the host's name and the certificate")
    case .appTransportSecurityRequiresSecureConnection:
      ("App Transport Security refuses http", "use https, or allow the host in Info.plist")
    default: nil
    }
  }
}
