import Foundation
import HTTPTypes
import NIOCore

/// A whole request or response in transit, without the fields of its connection.
struct ForwardedMessage<Head: Sendable>: Sendable {
  var head: Head
  var body: ByteBuffer
  /// A Boolean value that indicates whether the body was chunked, without an announced length.
  var isChunked = false
}

typealias ForwardedRequest = ForwardedMessage<HTTPRequest>
typealias ForwardedResponse = ForwardedMessage<HTTPResponse>

extension ByteBuffer {
  var data: Data { Data(readableBytesView) }
}

/// The maximum size of one body in memory.
enum BodyLimit {
  static let bytes = 64 << 20
}
