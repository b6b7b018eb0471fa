import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The description of errors that may hold a secret.
package enum Redaction {
  /// Describes an error in the words that its author chose, or else by the name of its type and
  /// case.
  ///
  /// The values that an error carries are not printed: they may be a URL, a response, or another
  /// error with either in its `userInfo`.
  package static func describe(_ error: any Error) -> String {
    // The value may be a secret: only the reason and the place are repeated.
    if case EncodingError.invalidValue(_, let context)? = error as? EncodingError {
      let path = context.codingPath.map(\.stringValue).joined(separator: ".")
      return "\(context.debugDescription)\(path.isEmpty ? "" : " (at \(path))")"
    }
    if let error = error as? URLError { return URLErrorText(error).reason }
    if let error = error as? ReactorError { return error.reason }
    if let error = error as? TransportError { return withoutQueries(error.reason) }
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

  /// Describes an error of signing in. Its author may have quoted a token, so only the words of
  /// this library and of the platform are repeated.
  static func describe(ofSignIn error: any Error) -> String {
    switch error {
    case let error as ReactorError: (error.request.map { "\($0): " } ?? "") + reason(ofSignIn: error)
    case let error as ReactorError.SignedOut: error.description
    case is URLError, is TransportError, is any CustomNSError: describe(error)
    case _ where type(of: error) is NSError.Type: describe(error)
    default: name(of: error)
    }
  }

  static func reason(ofSignIn error: ReactorError) -> String {
    switch error {
    case .authentication(let error): "signing in failed: \(describe(ofSignIn: error))"
    case .network(let error as ReactorError): reason(ofSignIn: error)
    case .network(let error) where !(error is URLError || error is TransportError):
      "the request failed: \(describe(ofSignIn: error))"
    case .persistence(let error): "the store failed: \(describe(ofSignIn: error))"
    default: error.reason
    }
  }

  private static func name(of error: any Error) -> String {
    let type = "\(type(of: error))"
    let mirror = Mirror(reflecting: error)
    guard mirror.displayStyle == .enum else { return type }
    return "\(type).\(mirror.children.first?.label ?? "\(error)")"
  }

  /// Returns `text` without the queries, fragments, users and passwords of its URLs, and without
  /// the queries of its paths.
  ///
  /// An error does not say which query items are secret, so all are dropped.
  static func withoutQueries(_ text: String) -> String {
    var (words, rest) = ([UInt8](), Array(text.utf8)[...])
    while !rest.isEmpty {
      let word = rest.prefix { !SecretScanner.isNoPartOfURL($0) }
      words += withoutQuery(word)
      rest = rest[word.endIndex...]
      words += rest.prefix(1)
      rest = rest.dropFirst()
    }
    return SecretQuery.redact(text: String(decoding: words, as: UTF8.self), with: "…")
  }

  private static func withoutQuery(_ word: ArraySlice<UInt8>) -> [UInt8] {
    guard let mark = word.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }),
      word[mark...].contains(UInt8(ascii: "=")) || word[..<mark].firstRange(of: Array("://".utf8)) != nil
    else { return Array(word) }
    return word[...mark] + Array("…".utf8)
  }
}

/// The code of a `URLError` in plain words, with advice.
struct URLErrorText {
  /// The failure, in words.
  let reason: String
  /// The remedy; `nil` if no remedy is known.
  let advice: String?

  init(_ error: URLError) {
    let words = Self.words(error.code) ?? Self.words(ofPlatform: error)
    reason = words.map { "\($0.reason) (URLError \(error.code.rawValue))" } ?? "URLError \(error.code.rawValue)"
    advice = words?.advice
  }

  /// Returns the platform's own text, which on Linux is libcurl's.
  private static func words(ofPlatform error: URLError) -> (reason: String, advice: String)? {
    guard error.code == .unknown, let text = error.errorUserInfo[NSLocalizedDescriptionKey] as? String, !text.isEmpty
    else { return nil }
    return ("the platform's client says: \(Redaction.withoutQueries(text))", "check the server's answer")
  }

  private static func words(_ code: URLError.Code) -> (reason: String, advice: String)? {
    switch code {
    case .cannotFindHost, .dnsLookupFailed:
      ("the host was not found", "check the base URL and the connection")
    case .cannotConnectToHost:
      ("no server accepts connections at that host and port", "check the base URL, and that the server runs")
    case .networkConnectionLost:
      ("the connection was lost before the response was complete", "try again")
    case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff:
      ("there is no connection to the Internet", "try again when the device is online")
    case .timedOut: ("the server did not answer in time", "try again")
    case .httpTooManyRedirects: ("the server redirected too often", "check the base URL and the path")
    case .badServerResponse, .cannotParseResponse:
      ("the response is not HTTP", "check the base URL's scheme and port")
    case .cannotDecodeContentData, .cannotDecodeRawData:
      ("the body is not in the coding that its header names", "check the server's Content-Encoding")
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
