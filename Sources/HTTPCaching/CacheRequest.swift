import Foundation
public import HTTPTypes

/// A request to send for a client, with the state that handling its response needs.
///
/// ``HTTPCache/plan(for:scope:at:)`` makes it. ``HTTPCache/receive(_:body:for:at:)`` takes it with
/// the server's response, and ``HTTPCache/staleAnswer(for:at:always:)`` after a failure.
public struct CacheRequest: Sendable {
  /// The request to send: the client's request, with the stored validators if there are any.
  public let request: HTTPRequest
  /// The error of the persistence during the look-up; `nil` if there was none. After an error, the
  /// request is sent as if nothing were stored.
  public let failure: (any Error)?
  let client: HTTPRequest
  /// The key of the response's record.
  public let key: RecordKey
  let stored: Record?
  /// The head that was on disk when the exchange began, whether it was used or not.
  var found: Record.Head?
  let sentAt: Date
  /// A Boolean value that indicates whether ``request`` carries the stored validators in place of
  /// the client's own conditions.
  let sendsValidators: Bool
  /// The reason why the request is sent, as `Cache-Status` says it.
  public let forwardReason: CacheStatus.ForwardReason
  /// The right to share the response; `nil` without a tier.
  var ticket: (any CacheTicket)?
}

/// Collapsed requests (RFC 9111 §4): of equal requests at one time, a cache may send one, and
/// answer the others from its response once that is stored.
extension CacheRequest {
  /// A Boolean value that indicates whether the response to an equal request may answer this one:
  /// it is a GET of a whole response, and does not itself ask for the server.
  public var acceptsCollapsing: Bool {
    let wishes = RequestCacheControl(client.headerFields)
    return client.method == .get && !client.headerFields.contains(.range) && !wishes.isNoCache && !wishes.isNoStore
      && [.uriMiss, .varyMiss, .miss, .stale].contains(forwardReason)
  }

  /// A Boolean value that indicates whether equal requests may wait for the response to this one.
  ///
  /// It is `false` for a request that is sent with the client's own conditions: a 304 or 412 to it
  /// answers that client alone.
  public var leadsCollapsing: Bool {
    let conditions: [HTTPField.Name] = [.ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince]
    return acceptsCollapsing
      && (sendsValidators || conditions.allSatisfy { !client.headerFields.contains($0) })
  }

  /// Returns whether the response may replace the current record: nothing newer was stored,
  /// invalidated or removed during the exchange.
  ///
  /// While the record found at the beginning is still there, no clock is compared. Such a record
  /// may be from before the clock was set back, and would count as newer until the clock catches
  /// up.
  ///
  /// - Parameters:
  ///   - current: The head that is stored now.
  ///   - receivedAt: The time at which the response was received.
  func isUndisturbed(by current: Record.Head?, until receivedAt: Date) -> Bool {
    guard let current else { return found == nil }
    // A model layer on the same store saved a local value, which is not a response.
    guard current.localModel == nil else { return true }
    if let found, found.isSameExchange(as: current) { return found.invalidatedAt == current.invalidatedAt }
    return current.invalidatedAt == nil && current.receivedAt <= receivedAt
  }
}
