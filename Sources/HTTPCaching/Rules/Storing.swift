package import Foundation
package import HTTPTypes

extension Record.Head {
  /// A Boolean value that indicates whether the body is a whole model: a success that is neither a
  /// part of a model nor a difference (RFC 9110 §15.3.7, RFC 3229 §10.4.1).
  package var isModel: Bool { status.kind == .successful && !UnkeyedInput.isAnswered(by: status) }

  /// A Boolean value that indicates whether a model layer stores the record: a success that allows
  /// it (RFC 9111 §3), or a local value.
  var isStorable: Bool { localModel != nil || (isModel && !CacheControl(fields).forbidsStoring(status)) }
}

extension CacheControl {
  /// Returns whether the cache may not store a response with this status (§5.2.2.5, §5.2.2.7). With
  /// `must-understand`, the status decides instead of `no-store` (§5.2.2.3).
  package func forbidsStoring(_ status: HTTPResponse.Status) -> Bool {
    isForOthers || (isMustUnderstand ? !Self.understood.contains(status.code) : isNoStore)
  }

  /// The final statuses of RFC 9110 §15.
  private static let understood = Set(
    Array(200...205) + [300, 301, 302, 303, 307, 308] + Array(400...417) + [421, 422, 426] + Array(500...505))
}

/// The fields of a response that are stored, and the fields that a later response updates.
package enum StoredFields {
  /// Returns the fields without connection fields (RFC 9111 §3.1) and secrets.
  package static func of(_ fields: HTTPFields, keepsCookies: Bool) -> HTTPFields {
    let always = keepsCookies ? unstoredButCookies : unstored
    var named: Set<HTTPField.Name> = []
    fields.forEachElement(of: .connection) { if let name = HTTPField.Name($0.text) { named.insert(name) } }
    return fields.filter { !always.contains($0.name) && !named.contains($0.name) }
  }

  /// Returns whether the validators of a 304 match the stored response (RFC 9111 §4.3.4). If not,
  /// the 304 confirms another representation and updates nothing.
  ///
  /// A validator that one side lacks matches. Tags are compared weakly, as the server did
  /// (RFC 9110 §13.1.2). Some servers weaken the tag of a response that they compress, but not the
  /// tag of its 304.
  package static func confirm(_ fields: HTTPFields, _ stored: Record.Head) -> Bool {
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

  /// The fields that hold secrets. No event, description or cassette shows them. No record holds
  /// them, except `Set-Cookie` in a cache that keeps cookies.
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
  /// The result of comparing a response with the stored record.
  package indirect enum Judgement: Sendable {
    /// The server confirmed the stored record, which now has this head (RFC 9111 §4.3.4).
    case notModified(Record.Head)
    /// The server confirmed another representation than the stored one. It is to be asked once
    /// more, without validators: nothing stored answers the request (RFC 9111 §4.3.4).
    case mismatched
    /// The server sent a new response.
    case received(Record)
  }

  /// Returns `request` with the validators of `stored`, so that the server can answer with a 304
  /// (RFC 9111 §4.3.1).
  ///
  /// A request that already has conditions is returned unchanged. So is a request whose method is
  /// neither GET, HEAD nor QUERY (RFC 10008 §2.6): for such a method, a matching validator means
  /// 412 (RFC 9110 §13.1.2, §13.1.3).
  ///
  /// Of a stored response with another status than 200, only the entity tag is sent: a file that
  /// appears may be older than the 404 before it.
  package static func conditional(_ request: HTTPRequest, on stored: Record.Head?) -> HTTPRequest {
    guard let stored, stored.localModel == nil, !UnkeyedInput.isAnswered(by: stored.status) else { return request }
    guard [.get, .head, .query].contains(request.method) else { return request }
    let own: [HTTPField.Name] = [.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .range]
    guard own.allSatisfy({ !request.headerFields.contains($0) }) else { return request }
    var request = request
    if let tag = stored.fields.value(of: .eTag) { request.headerFields[.ifNoneMatch] = tag }
    if stored.status == .ok, let date = stored.fields.value(of: .lastModified) {
      request.headerFields[.ifModifiedSince] = date
    }
    return request
  }

  /// Judges a response to a request from ``conditional(_:on:)``. Stores nothing.
  ///
  /// - Parameters:
  ///   - response: The server's response.
  ///   - body: The body of the response.
  ///   - request: The fields of the request before validators were added.
  ///   - key: The key of the record.
  ///   - stored: The head whose validators were sent; `nil` if none were.
  ///   - requestedAt: The time at which the request was sent.
  ///   - receivedAt: The time at which the response was received.
  ///   - keepsCookies: A Boolean value that indicates whether `Set-Cookie` is stored. Default:
  ///     `false`.
  package static func judge(
    _ response: HTTPResponse, body: Data, to request: HTTPFields, for key: RecordKey, stored: Record.Head?,
    requestedAt: Date, receivedAt: Date, keepsCookies: Bool = false
  ) -> Judgement {
    let fields = StoredFields.of(response.headerFields, keepsCookies: keepsCookies)
    if response.status == .notModified, let stored {
      guard StoredFields.confirm(fields, stored) else { return .mismatched }
      return .notModified(stored.updated(by: fields, request, requestedAt, receivedAt))
    }
    let head = Record.Head(
      identity: key.identity, status: response.status, fields: fields, requestedAt: requestedAt,
      receivedAt: receivedAt, variant: Record.Variant(response: response.headerFields, request: request))
    return .received(Record(head: head, body: body))
  }
}

extension Record.Head {
  /// Returns the head after a 304, or a response to HEAD, that confirms it (RFC 9111 §3.2, §4.3.4,
  /// §4.3.5).
  package func updated(
    by fields: HTTPFields, _ request: HTTPFields, _ requestedAt: Date, _ receivedAt: Date
  ) -> Record.Head {
    var head = self
    // The age belonged to the earlier response, and so did the limits of requests at its time.
    head.fields[.age] = nil
    if let name = HTTPField.Name("RateLimit") { head.fields[name] = nil }
    for name in Set(fields.map(\.name)).subtracting(StoredFields.ofBody) {
      head.fields[fields: name] = fields[fields: name]
    }
    // The stored bytes are still in the charset of the response that brought them.
    let (new, old) = (head.fields.value(of: .contentType), self.fields.value(of: .contentType))
    if ContentType.charset(of: new) != ContentType.charset(of: old) {
      head.fields[fields: .contentType] = self.fields[fields: .contentType]
    }
    head.requestedAt = requestedAt
    head.receivedAt = receivedAt
    head.invalidatedAt = nil
    head.keepVary(of: self)
    head.variant = Record.Variant(response: head.fields, request: request) ?? variant
    return head
  }

  /// Adds the names to `Vary` that the stored response has and the 304 does not: its body was
  /// selected by them.
  private mutating func keepVary(of stored: Record.Head) {
    guard fields.contains(.vary), let variant = stored.variant, variant.isMatchable else { return }
    var missing = Set(variant.names)
    fields.forEachElement(of: .vary) { missing.remove($0.text.lowercased()) }
    guard !missing.isEmpty else { return }
    fields.append(HTTPField(name: .vary, value: missing.sorted().joined(separator: ", ")))
  }
}
