import Foundation
import HTTPTypes
import NIOCore

/// A request or a response on its way through, whole, without what belongs to its connection.
struct ForwardedMessage<Head: Sendable>: Sendable {
  var head: Head
  var body: ByteBuffer
  /// Whether the body came in chunks, its length unannounced.
  var isChunked = false
}

typealias ForwardedRequest = ForwardedMessage<HTTPRequest>
typealias ForwardedResponse = ForwardedMessage<HTTPResponse>

extension ByteBuffer {
  var data: Data { Data(readableBytesView) }
}

/// How much of one body is kept in memory, in bytes.
enum BodyLimit {
  static let bytes = 64 << 20
}
