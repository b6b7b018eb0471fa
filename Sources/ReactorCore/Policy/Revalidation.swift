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
  /// A request that carries conditions of its own keeps them, and gets none.
  public static func conditional(_ request: HTTPRequest, on stored: Record.Head?) -> HTTPRequest {
    guard let stored, stored.localModel == nil, stored.status == .ok else { return request }
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
  public static func judge(
    _ response: HTTPResponse, body: Data, to request: HTTPFields, for key: RecordKey, stored: Record.Head?,
    requestedAt: Date, receivedAt: Date
  ) -> Answer {
    let fields = storedFields(of: response)
    if response.status == .notModified, var head = stored {
      for name in Set(fields.map(\.name)).subtracting(Self.bodyFields) {
        head.fields[values: name] = fields[values: name]
      }
      head.requestedAt = requestedAt
      head.receivedAt = receivedAt
      head.invalidatedAt = nil
      return .notModified(head)
    }
    let head = Record.Head(
      identity: key.identity, status: response.status, fields: fields, requestedAt: requestedAt,
      receivedAt: receivedAt, variant: Variant(response: response.headerFields, request: request))
    return .received(Record(head: head, body: body))
  }

  /// What describes the stored body, so that a 304 does not change it (RFC 9111 §3.2).
  private static let bodyFields: Set<HTTPField.Name> = [.contentLength, .contentEncoding, .contentType, .contentRange]

  /// The response's fields without secrets and those that belong to the connection (RFC 9111 §3.1).
  private static func storedFields(of response: HTTPResponse) -> HTTPFields {
    let fields = response.headerFields
    let listed = fields[values: .connection].flatMap { $0.split(separator: ",") }
      .compactMap { HTTPField.Name($0.trimmingCharacters(in: .whitespaces)) }
    let left = connectionFields.union(listed).union(Redaction.secretFields)
    return HTTPFields(fields.filter { !left.contains($0.name) })
  }

  private static let connectionFields: Set<HTTPField.Name> = Set(
    [.connection, .proxyAuthenticate, .te, .trailer, .transferEncoding, .upgrade]
      + ["Keep-Alive", "Proxy-Connection", "Proxy-Authentication-Info"].compactMap { HTTPField.Name($0) })
}

extension Record.Head {
  /// Whether it may be stored: a success that does not forbid it (RFC 9111 §3), or a local value.
  var isStorable: Bool {
    localModel != nil || (status.kind == .successful && status != .partialContent && !CacheControl(fields).isNoStore)
  }
}
