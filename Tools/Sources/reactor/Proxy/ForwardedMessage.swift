import Foundation
import HTTPTypes
import NIOCore

/// A whole request or response in transit, without the fields of its connection.
struct ForwardedMessage<Head: Sendable>: Sendable {
  var head: Head
  var body: ByteBuffer
  /// A Boolean value that indicates whether the body was chunked, without an announced length.
  var isChunked = false
  /// The body of a response that is too large to hold, as it arrives; ``body`` is then empty.
  var stream: BodyStream?
}

typealias ForwardedRequest = ForwardedMessage<HTTPRequest>
typealias ForwardedResponse = ForwardedMessage<HTTPResponse>

extension ByteBuffer {
  var data: Data { Data(readableBytesView) }
}

/// The maximum size of one body in memory.
enum BodyLimit {
  /// That of a request. A larger one is refused.
  static let request = 64 << 20
  /// That of a response, unless the command line says otherwise. A larger one is not stored.
  static let response = 16 << 20
}
