import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorChangeFeed

/// The answer of the proxy to a client.
struct ProxyResponse: Sendable {
  var response: HTTPResponse
  var body = Data()
  /// ``body`` in the pieces that are sent; `nil` for none.
  var whole: SharedBody?
  /// The body as it arrives, if it is not held; ``body`` is then empty.
  var stream: BodyStream?
  /// The body of the answer to a client that follows changes.
  var changes: ChangeStream?
  /// The bytes that are counted for the body of a response from the server; `nil` for another.
  var held: HeldBytes?
  /// The version in which the response was received, for `Via`.
  var version = "1.1"
  var source: CacheResponse.Source
  /// A Boolean value that indicates whether the cache stored the server's answer.
  var isStored = false
  /// The handling of the request, for `Cache-Status`.
  var cacheStatus = CacheStatus(forwardReason: .bypass)
  /// An error on the way to the answer. The answer is complete even then.
  var failure: (any Error)?

  init(_ answer: CacheResponse) {
    response = answer.response
    body = answer.body
    source = answer.source
    isStored = answer.isStored
    cacheStatus = answer.cacheStatus
    failure = answer.failure
  }

  /// Creates the server's answer as it was received.
  init(_ message: ForwardedResponse) {
    response = message.head
    body = message.body.data
    source = .network
    receive(message)
  }

  /// Takes the parts of the server's message that the cache does not have.
  mutating func receive(_ message: ForwardedResponse) {
    (stream, held, version) = (message.stream, message.held, message.version)
    if let stream { cacheStatus.detail = stream.reason.rawValue }
  }

  /// Creates a 502: the server gave no complete answer (RFC 9110 §15.6.3).
  init(failure: any Error) {
    self.init(own: .badGateway)
    self.failure = failure
  }

  /// Creates a response of the proxy itself.
  ///
  /// - Parameter detail: The reason, for `Cache-Status`.
  init(own status: HTTPResponse.Status, _ fields: HTTPFields = [:], body: Data = Data(), detail: String? = nil) {
    response = HTTPResponse(status: status, headerFields: [.contentLength: "\(body.count)"])
    response.headerFields.append(contentsOf: fields)
    self.body = body
    source = .network
    if let detail { cacheStatus = CacheStatus(detail: detail) }
  }
}
