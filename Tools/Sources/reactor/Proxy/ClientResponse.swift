import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1

/// The output of one request for its connection, in this order: interim responses, then a whole
/// response, or its parts as they arrive.
enum ClientOutput: Sendable {
  /// A response before the final one.
  case interim(HTTPResponseHead)
  /// A response whose body is here.
  case whole(ClientResponse)
  /// A response whose body follows in parts.
  case head(ClientResponse)
  case part(ByteBuffer)
  /// The end of a response.
  case end(ClientResponse)
}

/// A response to a client, with the framing of its connection.
struct ClientResponse: Sendable {
  var head: HTTPResponseHead
  var body: SharedBody?
  /// A Boolean value that indicates whether the connection ends after the response.
  var closes: Bool

  /// Creates a response of the proxy itself, which ends the connection.
  init(status: HTTPResponseStatus) {
    head = HTTPResponseHead(
      version: .http1_1, status: status,
      headers: ["Content-Length": "0", "Date": ServerDate.text(Date()), "Connection": "close"])
    closes = true
  }

  init(_ answer: ProxyResponse, to request: HTTPRequestHead) {
    head = Self.head(answer.response)
    // HTTP/1.0 has no chunks, so the end of the connection ends the body.
    closes = request.isLastOfConnection
    let status = answer.response.status
    if status == .noContent || status.kind == .informational {
      head.headers.remove(name: "content-length")
    } else if answer.stream != nil || answer.changes != nil, request.method != .HEAD {
      // The server's length, or none: the body is not here.
      if head.headers["content-length"].count != 1 { head.headers.frame(bodyLength: -1, isChunked: true) }
      if request.version == .http1_0 {
        closes = closes || head.headers.contains(name: "transfer-encoding")
        head.headers.remove(name: "transfer-encoding")
      }
    } else if request.method != .HEAD, status != .notModified {
      body = answer.whole
      head.headers.frame(bodyLength: body?.count ?? 0, isChunked: true)
      if request.version == .http1_0 { head.headers.remove(name: "transfer-encoding") }
    }
    if closes { head.headers.add(name: "Connection", value: "close") }
  }

  static func head(_ response: HTTPResponse) -> HTTPResponseHead {
    HTTPResponseHead(
      version: .http1_1,
      status: HTTPResponseStatus(statusCode: response.status.code, reasonPhrase: response.status.reasonPhrase),
      headers: EndToEndFields.headers(response.headerFields))
  }
}
