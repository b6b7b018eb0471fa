import Foundation
public import HTTPTypes

/// A request to send for a client, with the state that handling its response needs.
///
/// ``ProxyCache/plan(for:body:scope:at:)`` makes it. ``ProxyCache/receive(_:body:for:at:)`` takes
/// it with the server's response, and ``ProxyCache/staleAnswer(for:at:always:wasSent:)`` after a
/// failure.
public struct CacheRequest: Sendable {
  /// The request to send: the client's request, with the stored validators if there are any.
  public let request: HTTPRequest
  /// The error of the persistence during the look-up; `nil` if it succeeded. After an error, the
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
  /// The entry among the requests under way, which changes of the URL mark.
  var underWay: ExchangeUnderWay
  /// The right to share the response; `nil` without a tier.
  var ticket: (any CacheTicket)?

  /// The fields of the sent request that are the client's own: those of ``request`` without the
  /// stored validators.
  var ownFields: HTTPFields {
    guard sendsValidators else { return client.headerFields }
    var fields = request.headerFields
    for name in [.ifNoneMatch, .ifModifiedSince] as [HTTPField.Name] { fields[name] = nil }
    return fields
  }

  /// A Boolean value that indicates whether a change of the URL was answered since the request was
  /// planned (RFC 9111 §4.4).
  ///
  /// Its response may be from before the change, so it is not stored. An equal request that begins
  /// now must not wait for it.
  public var isOvertaken: Bool { underWay.isOvertaken() }

  /// Returns whether a change was answered since the request was planned.
  ///
  /// - Parameter groups: The groups of the response.
  func isOvertaken(groups: Set<String>) -> Bool { underWay.isOvertaken(groups: groups) }
}

/// Collapsed requests (RFC 9111 §4): of equal requests at one time, a cache may send one, and
/// answer the others from its response once that is stored.
extension CacheRequest {
  /// A Boolean value that indicates whether the response to an equal request may answer this one:
  /// it is a GET of a whole response, or a QUERY that may be stored, and does not itself demand the
  /// server.
  public var acceptsCollapsing: Bool {
    let wishes = RequestCacheControl(client.headerFields)
    return (client.method == .get || key.method == .query) && !client.headerFields.contains(.range) && !wishes.isNoCache
      && !wishes.isNoStore
      && [.uriMiss, .varyMiss, .miss, .stale].contains(forwardReason)
  }

  /// A Boolean value that indicates whether equal requests may wait for the response to this one.
  ///
  /// It is `false` for a request that is sent with the client's own conditions or expectations: a
  /// 304, 412 or 417 to it answers only that client.
  public var leadsCollapsing: Bool { acceptsCollapsing && !UnkeyedInput.isPresent(in: ownFields) }

  /// Returns whether the response may replace the current record: nothing newer was stored,
  /// invalidated or removed during the exchange.
  ///
  /// While the record found at the beginning is still there, no clock is compared. Such a record
  /// may be from before the clock was set back, and would count as newer until the clock catches
  /// up.
  ///
  /// - Parameters:
  ///   - current: The head that is stored now.
  ///   - new: The head of the response.
  ///   - isConfirmation: `true` if the response has confirmed the stored body.
  func isUndisturbed(by current: Record.Head?, _ new: Record.Head, isConfirmation: Bool) -> Bool {
    guard let current else { return found == nil }
    // A model layer on the same store saved a local value, which is not a response.
    guard current.localModel == nil else { return true }
    if let found, found.isSameExchange(as: current) { return found.invalidatedAt == current.invalidatedAt }
    guard current.invalidatedAt == nil, current.receivedAt <= new.receivedAt else { return false }
    // Two exchanges crossed. The confirmed response is not the one stored since, unless their tags
    // match.
    if isConfirmation { return current.fields.contains(.eTag) && current.fields[.eTag] == new.fields[.eTag] }
    // The most recent counts, by the server's clock (RFC 9111 §4), or else the response that was
    // requested last.
    if let date = new.date(.date), let other = current.date(.date), date != other { return date > other }
    return current.requestedAt <= new.requestedAt
  }
}
