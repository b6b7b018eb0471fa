import HTTPTypes

extension ReactorError {
  /// Whether *the network failed*, so that a stored copy may stand in: no connectivity, timed out, the transport's error, and
  /// 500, 502, 503, 504 (RFC 5861 §4). Never a cancellation, a parser's error or another status.
  var isNetworkFailure: Bool {
    switch self {
    case .noConnectivity, .timedOut, .network: true
    case .server(let response, _): [500, 502, 503, 504].contains(response.status.code)
    case .cancelled, .notCached, .invalidResource, .authentication, .parser, .persistence, .deadlock: false
    }
  }
}
