package import Foundation
package import HTTPTypes

/// A cache between a layer and the server that shares responses with other processes.
///
/// It never fails a request that the server would answer: if it cannot share, it contacts the
/// server.
package protocol LayerUpstream: AnyObject, Sendable {
  /// Stops trusting copies that other processes may have changed unnoticed, once the time for that
  /// is over. Call it before a memory hit, once the wall clock has moved by a millisecond: in a
  /// process that was suspended, no timer has fired.
  func advance()

  /// Returns a Boolean value that indicates whether a message about every change of a key's
  /// response has arrived since it was last compared.
  func follows(_ key: RecordKey) -> Bool

  /// Calls `body` with the keys that others have changed, or with `nil` if any may be out of date,
  /// until the token is released. It is called on the thread that has learnt of the change.
  func observe(_ body: @escaping @Sendable (Set<RecordKey>?) -> Void) -> any Sendable & AnyObject

  /// Makes a key's response stale for every process, or removes it. Returns once the change is
  /// announced, or queued for later.
  func change(_ key: RecordKey, isRemoved: Bool, at date: Date) async

  /// Removes the responses of a scope for every process.
  func removeAll(in scope: Scope) async

  /// Returns the response to a GET: another process's, if it may be used, or else the server's.
  func response(to request: UpstreamRequest) async throws -> HTTPFlowResponse
}

/// A request of a layer for the cache between it and the server.
package struct UpstreamRequest: Sendable {
  /// The request, with the validators of the layer's copy.
  package let request: HTTPRequest
  /// The key of a GET of its URL.
  package let key: RecordKey
  /// A Boolean value that indicates whether a caller wants the server's response, and no other
  /// process's.
  package let asksServer: Bool
  /// The configuration of the reactor that fetches.
  package let configuration: ReactorConfiguration
  /// Sends a request to the server. It is conditional if `isConditional` is `true`, and no caller
  /// waits for the response if `isAwaited` is `false`.
  package let send:
    @Sendable (_ request: HTTPRequest, _ isConditional: Bool, _ isAwaited: Bool) async throws -> HTTPFlowResponse
  /// Records that a shared response is the answer, of so many bytes.
  package let shared: @Sendable (_ bytes: Int, _ isAwaited: Bool) -> Void
}

/// The error for a request that another process just sent without success.
package struct FailedElsewhere: Error, CustomStringConvertible {
  package init() {}

  package var description: String {
    "another process's request to the server just failed; retry in a second"
  }
}
