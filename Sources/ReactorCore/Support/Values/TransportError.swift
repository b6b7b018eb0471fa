/// An error with which a transport ends an exchange.
///
/// `request` is the method, host and path of the request, without its query. A reactor adds it to
/// the errors that it throws; a transport need not.
@nonexhaustive public enum TransportError: Error, Sendable, Hashable {
  /// The response's body exceeds the transport's limit in bytes, as announced or as received.
  case responseTooLarge(limit: Int, request: String? = nil)
  /// The server redirected more often than the transport follows, for example in a loop.
  case tooManyRedirects(limit: Int, request: String? = nil)
  /// The response has more header fields than the transport accepts.
  case tooManyFields(limit: Int, request: String? = nil)
  /// The response is not valid HTTP, or its body is not in the coding that its header names, for a
  /// reason in words. The request may have been carried out. It is not retried.
  case invalidResponse(String, request: String? = nil)
  /// No connection was made, so nothing was sent, for a reason in words. A retry may succeed.
  case notConnected(String, request: String? = nil)
  /// No secure connection was made, so nothing was sent, for a reason in words. It is not retried.
  case notSecure(String, request: String? = nil)
  /// There was no connection, or it was lost, for a reason in words. A retry may succeed.
  case connectionFailed(String, request: String? = nil)
  /// More than `limit` bytes of a stream have arrived that were not read, and the transport cannot
  /// make the server wait. The stream has ended before them.
  case tooManyUnread(limit: Int, request: String? = nil)
}

extension TransportError: CustomStringConvertible {
  /// The failure and the remedy, in one line, without the request.
  public var description: String { "\(reason); \(advice)" }

  /// The failure in words, without the remedy.
  package var reason: String {
    switch self {
    case .responseTooLarge(let limit, _): "the response is larger than \(limit) bytes"
    case .tooManyRedirects(let limit, _): "more than \(limit) redirects"
    case .tooManyFields(let limit, _): "the response has more than \(limit) header fields"
    case .invalidResponse(let reason, _): "the response is invalid: \(reason)"
    case .notConnected(let reason, _): "no connection was made: \(reason)"
    case .notSecure(let reason, _): "no secure connection was made: \(reason)"
    case .connectionFailed(let reason, _): "the connection failed: \(reason)"
    case .tooManyUnread(let limit, _): "more than \(limit) bytes of the stream wait to be read"
    }
  }

  /// The remedy, in words.
  var advice: String {
    switch self {
    case .responseTooLarge: "raise the transport's maximumResponseSize"
    case .tooManyRedirects: "check the URL, or raise the transport's maximumRedirects"
    case .tooManyFields, .invalidResponse: "check the server, and any proxy between it and this program"
    case .notConnected: "check the base URL, and that the server runs"
    case .notSecure: "check the port and the certificate, or use http for a test server"
    case .connectionFailed: "try again"
    case .tooManyUnread: "read faster, or use a transport that makes the server wait, such as AsyncHTTPClientTransport"
    }
  }

  /// The request that failed; `nil` if the error was not thrown by a reactor.
  package var request: String? {
    switch self {
    case .responseTooLarge(_, let request), .tooManyRedirects(_, let request), .tooManyFields(_, let request),
      .invalidResponse(_, let request), .notConnected(_, let request), .notSecure(_, let request),
      .connectionFailed(_, let request), .tooManyUnread(_, let request):
      request
    }
  }

  /// Returns the error with the request, unless it has one that is not to be replaced.
  func naming(_ request: String, replacing: Bool = false) -> TransportError {
    let request = replacing ? request : self.request ?? request
    return switch self {
    case .responseTooLarge(let limit, _): .responseTooLarge(limit: limit, request: request)
    case .tooManyRedirects(let limit, _): .tooManyRedirects(limit: limit, request: request)
    case .tooManyFields(let limit, _): .tooManyFields(limit: limit, request: request)
    case .invalidResponse(let reason, _): .invalidResponse(reason, request: request)
    case .notConnected(let reason, _): .notConnected(reason, request: request)
    case .notSecure(let reason, _): .notSecure(reason, request: request)
    case .connectionFailed(let reason, _): .connectionFailed(reason, request: request)
    case .tooManyUnread(let limit, _): .tooManyUnread(limit: limit, request: request)
    }
  }
}
