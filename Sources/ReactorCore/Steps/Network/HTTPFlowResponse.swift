package import Foundation
package import HTTPTypes

/// The last attempt of a request, which has a response.
package struct HTTPFlowResponse: Sendable {
  package var response: HTTPResponse
  package var body: Data
  /// The time from which the age of the response is computed (RFC 9111 §4.2.3).
  let requestedAt: Date
  package let receivedAt: Date
  /// The redirects that were followed, as far as the transport reports them.
  package let redirects: [HTTPResponse]
  /// A Boolean value that indicates whether another process has fetched and shared the response.
  let isShared: Bool

  init(response: HTTPResponse, body: Data, requestedAt: Date, receivedAt: Date, redirects: [HTTPResponse]) {
    (self.response, self.body, self.redirects) = (response, body, redirects)
    (self.requestedAt, self.receivedAt, isShared) = (requestedAt, receivedAt, false)
  }

  /// Creates a response that another process has shared, as if it had just arrived, with the age
  /// that it states.
  package init(shared response: HTTPResponse, _ body: Data, at now: Date) {
    (self.response, self.body, redirects) = (response, body, [])
    (requestedAt, receivedAt, isShared) = (now, now, true)
  }
}

extension Snapshot {
  /// Returns the same snapshot, as one of a response.
  func from(_ exchange: HTTPFlowResponse) -> Snapshot {
    var snapshot = self
    snapshot.isShared = exchange.isShared
    return snapshot
  }
}
