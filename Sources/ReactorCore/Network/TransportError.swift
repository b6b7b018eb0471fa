/// Why a transport gave up on an exchange that the platform had no objection to.
@nonexhaustive public enum TransportError: Error, Sendable, Hashable {
  /// The response's body is larger than the transport accepts, by what it announced or by what arrived. In bytes.
  case responseTooLarge(limit: Int)
  /// The server redirected more often than the transport follows, as in a loop.
  case tooManyRedirects(limit: Int)
  /// The response has more header fields than the transport accepts.
  case tooManyFields(limit: Int)
  /// There was no connection, or none any more, for a reason in the client's words. Asking again may help.
  case connectionFailed(String)
}

extension TransportError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .responseTooLarge(let limit): "the response is larger than \(limit) bytes"
    case .tooManyRedirects(let limit): "more than \(limit) redirects"
    case .tooManyFields(let limit): "the response has more than \(limit) header fields"
    case .connectionFailed(let reason): "the connection failed: \(reason)"
    }
  }
}
