import Foundation
import HTTPCaching
import HTTPTypes

/// The answer of the proxy to a client.
struct ProxyResponse: Sendable {
  var response: HTTPResponse
  var body = Data()
  /// The body as it arrives, if it is too large to hold; ``body`` is then empty.
  var stream: BodyStream?
  var source: CacheResponse.Source
  /// A Boolean value that indicates whether the cache stored the server's answer.
  var isStored = false
  /// The handling of the request, for `Cache-Status`.
  var cacheStatus = CacheStatus(forwardReason: .bypass)
  /// An error on the way to the answer. The answer is complete nevertheless.
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
    stream = message.stream
    source = .network
  }

  /// Creates a 502: the server gave no complete answer (RFC 9110 §15.6.3).
  init(failure: any Error) {
    response = HTTPResponse(status: .badGateway, headerFields: [.contentLength: "0"])
    source = .network
    self.failure = failure
  }
}
