import Foundation
import HTTPCachingProxy
import HTTPTypes
import NIOCore

/// A whole request or response in transit, without the fields of its connection.
struct ForwardedMessage<Head: Sendable>: Sendable {
  var head: Head
  var body: ByteBuffer
  /// A Boolean value that indicates whether the body was chunked, without an announced length.
  var isChunked = false
  /// The body of a response that is not held, as it arrives; ``body`` is then empty.
  var stream: BodyStream?
  /// The bytes that are counted for the body, for as long as the message lasts.
  var held = HeldBytes()
  /// The version in which the message was received, for `Via`.
  var version = "1.1"
}

typealias ForwardedRequest = ForwardedMessage<HTTPRequest>
typealias ForwardedResponse = ForwardedMessage<HTTPResponse>

extension ForwardedRequest {
  /// The content of a QUERY, which is part of its key; `nil` for another method, and if it is too
  /// large for a key.
  var queryBody: Data? {
    head.method == .query && body.readableBytes <= HTTPCache.largestQueryBody ? body.data : nil
  }
}

extension ByteBuffer {
  var data: Data { Data(readableBytesView) }
}

/// The most bytes of bodies in memory.
enum BodyLimit {
  /// The body of a request. A larger one is refused.
  static let request = 64 << 20
  /// The bodies of all requests. Beyond it, a request with a body of more than 64 KiB is refused.
  static let requests = 256 << 20
  /// The body of a response, unless the command line says otherwise. A larger one is not stored.
  static let response = 16 << 20
  /// The bodies of all responses on their way to clients, unless the command line allows more.
  static let responses = 256 << 20
}
