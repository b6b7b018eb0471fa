package import Foundation
package import HTTPTypes

extension Record.Head {
  /// A Boolean value that indicates whether its body is a whole model: a success, and no part of
  /// one (RFC 9110 §15.3.7).
  package var isModel: Bool { status.kind == .successful && status != .partialContent }

  /// A Boolean value that indicates whether a model layer stores it: a success that does not forbid
  /// it (RFC 9111 §3), or a local value.
  var isStorable: Bool { localModel != nil || (isModel && !CacheControl(fields).forbidsStoring(status)) }

  /// Returns whether a private cache may store the answer to a request for all of a resource (RFC
  /// 9111 §3).
  ///
  /// - Parameter request: the fields of the request.
  func isStorable(for request: RequestCacheControl) -> Bool {
    let control = CacheControl(fields)
    let isFinal = (200...599).contains(status.code) && status != .partialContent && status != .notModified
    let isExplicit = control.maxAge != nil || control.isStorable || fields.contains(.expires)
    return isFinal && !request.isNoStore && !control.forbidsStoring(status) && variant?.isMatchable ?? true
      && (isExplicit || Heuristic.statuses.contains(status.code))
  }
}

extension CacheControl {
  /// Returns whether a response with this status may be stored by nobody: §5.2.2.5, and §5.2.2.3,
  /// which overrules it where the status is understood.
  func forbidsStoring(_ status: HTTPResponse.Status) -> Bool {
    isMustUnderstand ? !Self.understood.contains(status.code) : isNoStore
  }

  /// The final statuses of RFC 9110 §15.
  private static let understood = Set(
    Array(200...205) + [300, 301, 302, 303, 307, 308] + Array(400...417) + [421, 422, 426] + Array(500...505))
}

/// The fields of a response that are stored, and which of them a later answer renews.
package enum StoredFields {
  /// The response's fields without those that belong to the connection (RFC 9111 §3.1), and without secrets.
  static func of(_ fields: HTTPFields, keepsCookies: Bool) -> HTTPFields {
    let always = keepsCookies ? unstoredButCookies : unstored
    var named: Set<HTTPField.Name> = []
    fields.forEachElement(of: .connection) { if let name = HTTPField.Name($0.text) { named.insert(name) } }
    return fields.filter { !always.contains($0.name) && !named.contains($0.name) }
  }

  /// Returns whether a 304's validators are those of what is stored, as far as it has any (RFC 9111
  /// §4.3.4): otherwise it confirms another representation, and updates nothing. Compared weakly,
  /// as the server did (RFC 9110 §13.1.2): some weaken the tag of a response that they compress,
  /// and not that of its 304.
  static func confirm(_ fields: HTTPFields, _ stored: Record.Head) -> Bool {
    if fields.contains(.eTag), stored.fields.contains(.eTag) {
      guard let tag = fields.singleLatin1(.eTag), let own = stored.fields.singleLatin1(.eTag) else { return false }
      if tag == own { return true }
      guard let tag = EntityTag(tag), let own = EntityTag(own) else { return false }
      return tag.weaklyMatches(own)
    }
    guard let date = fields[.lastModified], let own = stored.fields[.lastModified] else { return true }
    return date == own
  }

  /// The fields that describe the stored bytes (§3.2).
  static let ofBody: Set<HTTPField.Name> = [.contentLength, .contentEncoding, .contentRange]

  /// The fields that hold secrets: no record, event, description or cassette has them.
  package static let secret: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie, .setCookie]

  private static let unstored = connection.union(secret)
  private static let unstoredButCookies = unstored.subtracting([.setCookie])

  private static let connection: Set<HTTPField.Name> = Set(
    [
      .connection, .proxyAuthenticate, .proxyAuthenticationInfo, .proxyAuthorization, .te, .trailer, .transferEncoding,
      .upgrade,
    ] + ["Keep-Alive", "Proxy-Connection"].compactMap { HTTPField.Name($0) })
}

extension HTTPCache {
  /// The result of judging a response beside the stored record.
  package enum Judgement: Sendable {
    /// 304: the stored record is good, and has this head now (RFC 9111 §4.3.4).
    case notModified(Record.Head)
    /// A response of its own.
    case received(Record)
  }

  /// `request` with the validators of `stored`, so that the server can answer 304 (RFC 9111 §4.3.1).
  ///
  /// A request that carries conditions of its own keeps them, and gets none. Nor does one of another method
  /// than GET and HEAD: there a validator that matches means 412 (RFC 9110 §13.1.2, §13.1.3).
  package static func conditional(_ request: HTTPRequest, on stored: Record.Head?) -> HTTPRequest {
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
  package static func judge(
    _ response: HTTPResponse, body: Data, to request: HTTPFields, for key: RecordKey, stored: Record.Head?,
    requestedAt: Date, receivedAt: Date, keepsCookies: Bool = false
  ) -> Judgement {
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
