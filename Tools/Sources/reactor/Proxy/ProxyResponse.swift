import Foundation
import HTTPCaching
import HTTPTypes

/// What a client of the proxy gets.
struct ProxyResponse: Sendable {
  var response: HTTPResponse
  var body = Data()
  /// Where it is from, in one word.
  var source: String
  /// What went wrong on the way; the answer is whole all the same.
  var failure: (any Error)?

  init(_ answer: CacheResponse) {
    response = answer.response
    body = answer.body
    source = "\(answer.source)"
    failure = answer.failure
  }

  /// The server's answer as it came.
  init(_ message: ForwardedResponse) {
    response = message.head
    body = message.body.data
    source = "network"
  }

  /// 502: the server gave no whole answer (RFC 9110 §15.6.3).
  init(failure: any Error) {
    response = HTTPResponse(status: .badGateway, headerFields: [.contentLength: "0"])
    source = "network"
    self.failure = failure
  }
}
