import HTTPTypes
import NIOCore
import NIOHTTP1

/// The rules for requests in addition to the rules of SwiftNIO's parser. A request that two
/// recipients might interpret differently is refused.
enum RequestRules {
  /// Returns a parser with the limits of a head. They apply to trailers too.
  static func makeParser() -> ByteToMessageHandler<HTTPRequestDecoder> {
    var limits = NIOHTTPDecoderLimitConfiguration()
    (limits.maxHeaderFieldSize, limits.maxHeaderListSize) = (64 << 10, 64 << 10)
    limits.maxHeaderFieldCount = EndToEndFields.limit
    return ByteToMessageHandler(
      HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits))
  }

  /// Returns the status of a refusal, or `nil` if the head is valid.
  static func refusal(of head: HTTPRequestHead) -> HTTPResponseStatus? {
    guard isHTTP(head.method) else { return .notImplemented }
    // RFC 9112 §3.2: a request of HTTP/1.1 has exactly one `Host`.
    let hasOneHost = head.version == .http1_0 || head.headers["host"].count == 1
    return hasOneHost && hasOneLength(head) && isUTF8(head.headers) ? nil : .badRequest
  }

  /// Returns the status for an error of the parser.
  static func status(of error: HTTPParserError) -> HTTPResponseStatus {
    switch error {
    case .invalidMethod: .notImplemented
    case .headerOverflow: .requestHeaderFieldsTooLarge
    default: .badRequest
    }
  }

  /// Returns the method as it was sent. SwiftNIO spells M-SEARCH without its hyphen.
  static func method(of head: HTTPRequestHead) -> HTTPRequest.Method? {
    HTTPRequest.Method(rawValue: head.method == .MSEARCH ? "M-SEARCH" : head.method.rawValue)
  }

  /// Returns a Boolean value that indicates whether the method belongs to HTTP. The parser also
  /// accepts methods of RTSP and Icecast.
  private static func isHTTP(_ method: HTTPMethod) -> Bool {
    if case .RAW(let name) = method { name == "QUERY" } else { true }
  }

  /// Returns a Boolean value that indicates whether the length is unambiguous: the only transfer
  /// coding is `chunked` (RFC 9112 §6.1). The parser refuses two lengths.
  private static func hasOneLength(_ head: HTTPRequestHead) -> Bool {
    let codings = head.headers["transfer-encoding"]
    guard let coding = codings.first else { return true }
    // The number of bytes is compared too, since the lower case of the Kelvin sign is a k.
    return codings.count == 1 && head.version == .http1_1 && coding.utf8.count == "chunked".utf8.count
      && coding.lowercased() == "chunked"
  }

  /// Returns a Boolean value that indicates whether the parser has replaced no byte. With one, two
  /// different values could be equal (RFC 9110 §5.5), and a client could get the answer to
  /// another's request. ``FieldBytes`` leaves few such heads.
  private static func isUTF8(_ headers: HTTPHeaders) -> Bool {
    headers.allSatisfy { !$0.value.unicodeScalars.contains("\u{FFFD}") }
  }
}

extension HTTPRequestHead {
  /// A Boolean value that indicates whether the connection ends after the answer. Later bytes are
  /// not a request (RFC 9112 §9.6).
  ///
  /// SwiftNIO's parser stops after a request to upgrade. The proxy answers it in HTTP/1.1, and the
  /// client reconnects.
  var isLastOfConnection: Bool { !isKeepAlive || version == .http1_0 || headers.contains(name: "upgrade") }
}
