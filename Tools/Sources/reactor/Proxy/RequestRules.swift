import HTTPTypes
import NIOCore
import NIOHTTP1

/// The rules for a client's request beyond those of SwiftNIO's parser: what two recipients might read in two ways is refused.
enum RequestRules {
  /// A parser within the limits of a head, which it applies to trailers too.
  static func makeParser() -> ByteToMessageHandler<HTTPRequestDecoder> {
    var limits = NIOHTTPDecoderLimitConfiguration()
    (limits.maxHeaderFieldSize, limits.maxHeaderListSize) = (64 << 10, 64 << 10)
    limits.maxHeaderFieldCount = EndToEndFields.limit
    return ByteToMessageHandler(
      HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits))
  }

  /// The status of a refusal, or `nil` where the head is as it should be.
  static func refusal(of head: HTTPRequestHead) -> HTTPResponseStatus? {
    guard isHTTP(head.method) else { return .notImplemented }
    // RFC 9112 §3.2.
    let hasOneHost = head.version == .http1_0 || head.headers["host"].count == 1
    return hasOneHost && hasOneLength(head) && isUTF8(head.headers) ? nil : .badRequest
  }

  /// The status that answers what the parser refused.
  static func status(of error: HTTPParserError) -> HTTPResponseStatus {
    error == .invalidMethod ? .notImplemented : .badRequest
  }

  /// The method as it was sent; SwiftNIO writes M-SEARCH without its hyphen.
  static func method(of head: HTTPRequestHead) -> HTTPRequest.Method? {
    HTTPRequest.Method(rawValue: head.method == .MSEARCH ? "M-SEARCH" : head.method.rawValue)
  }

  /// The parser knows methods of RTSP and of Icecast too.
  private static func isHTTP(_ method: HTTPMethod) -> Bool {
    if case .RAW(let name) = method { name == "QUERY" } else { true }
  }

  /// RFC 9112 §6.1: a body is in chunks and in no other coding. The parser refuses two lengths.
  private static func hasOneLength(_ head: HTTPRequestHead) -> Bool {
    let codings = head.headers["transfer-encoding"]
    guard let coding = codings.first else { return true }
    // By bytes: the lower case of the Kelvin sign is a k.
    return codings.count == 1 && head.version == .http1_1 && coding.utf8.count == "chunked".utf8.count
      && coding.lowercased() == "chunked"
  }

  /// The parser replaces bytes that are no UTF-8. Two values that differ in them would become one (RFC 9110 §5.5), and one
  /// client might get the answer to another's request.
  private static func isUTF8(_ headers: HTTPHeaders) -> Bool {
    headers.allSatisfy { !$0.value.unicodeScalars.contains("\u{FFFD}") }
  }
}

extension HTTPRequestHead {
  /// A Boolean value that indicates whether the connection ends with the answer: what follows is no request (RFC 9112 §9.6).
  ///
  /// After a request for another protocol SwiftNIO's parser stops. The proxy answers in HTTP/1.1, and the client connects
  /// again.
  var isLastOfConnection: Bool { !isKeepAlive || version == .http1_0 || headers.contains(name: "upgrade") }
}
