public import Foundation
public import HTTPTypes

extension HTTPCache {
  /// What a response says about the stored record.
  public enum Answer: Sendable {
    /// 304: the stored record is good, and has this head now (RFC 9111 §4.3.4).
    case notModified(Record.Head)
    /// A response of its own.
    case received(Record)
  }

  /// `request` with the validators of `stored`, so that the server can answer 304 (RFC 9111 §4.3.1).
  ///
  /// A request that carries conditions of its own keeps them, and gets none. Nor does one of another method
  /// than GET and HEAD: there a validator that matches means 412 (RFC 9110 §13.1.2, §13.1.3).
  public static func conditional(_ request: HTTPRequest, on stored: Record.Head?) -> HTTPRequest {
    guard let stored, stored.localModel == nil, stored.status == .ok else { return request }
    guard request.method == .get || request.method == .head else { return request }
    let own: [HTTPField.Name] = [.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .range]
    guard own.allSatisfy({ !request.headerFields.contains($0) }) else { return request }
    var request = request
    if let tag = stored.fields[.eTag] { request.headerFields[.ifNoneMatch] = tag }
    if let date = stored.fields[.lastModified] { request.headerFields[.ifModifiedSince] = date }
    return request
  }

  /// Judges a response to a request that ``conditional(_:on:)`` made.
  ///
  /// - Parameters:
  ///   - request: the fields of the request before validators were added.
  ///   - stored: whose validators were sent; `nil` where none were.
  ///   - keepsCookies: whether `Set-Cookie` is among what is stored.
  public static func judge(
    _ response: HTTPResponse, body: Data, to request: HTTPFields, for key: RecordKey, stored: Record.Head?,
    requestedAt: Date, receivedAt: Date, keepsCookies: Bool = false
  ) -> Answer {
    let fields = StoredFields.of(response.headerFields, keepsCookies: keepsCookies)
    if response.status == .notModified, let stored {
      guard StoredFields.confirm(fields, stored) else { return .notModified(stored) }
      return .notModified(stored.updated(by: fields, request, requestedAt, receivedAt))
    }
    let head = Record.Head(
      identity: key.identity, status: response.status, fields: fields, requestedAt: requestedAt,
      receivedAt: receivedAt, variant: Variant(response: response.headerFields, request: request))
    return .received(Record(head: head, body: body))
  }
}

extension Record.Head {
  /// The head after a 304, or an answer to HEAD, that confirms it (RFC 9111 §3.2, §4.3.4, §4.3.5).
  func updated(by fields: HTTPFields, _ request: HTTPFields, _ requestedAt: Date, _ receivedAt: Date) -> Record.Head {
    var head = self
    // An age that was another answer's.
    head.fields[.age] = nil
    for name in Set(fields.map(\.name)).subtracting(StoredFields.ofBody) {
      head.fields[fields: name] = fields[fields: name]
    }
    head.requestedAt = requestedAt
    head.receivedAt = receivedAt
    head.invalidatedAt = nil
    head.variant = Variant(response: head.fields, request: request) ?? variant
    return head
  }
}
