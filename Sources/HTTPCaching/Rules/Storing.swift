package import Foundation
package import HTTPTypes

extension Record.Head {
  /// A Boolean value that indicates whether the body is a whole model: a success that is no part or
  /// difference of one (RFC 9110 §15.3.7, RFC 3229 §10.4.1).
  package var isModel: Bool { status.kind == .successful && !UnkeyedInput.isAnswered(by: status) }

  /// Returns whether a model layer stores the record: a success that allows it (RFC 9111 §3), or a
  /// local value.
  func isStorable(by rules: CacheRules) -> Bool {
    localModel != nil || (isModel && !CacheControl(fields, by: rules).forbidsStoring(status))
  }

  /// Returns what becomes of the store after the response to a request.
  ///
  /// - Parameters:
  ///   - request: The fields of the request, without validators of the cache.
  ///   - setsCookies: A Boolean value that indicates whether the response had `Set-Cookie`, which a
  ///     head does not hold. Default: `false`.
  ///   - rules: The rules of the cache. Default: those of a private cache.
  func effect(of request: HTTPFields, setsCookies: Bool = false, by rules: CacheRules = .private) -> StorageEffect {
    let control = CacheControl(fields, by: rules)
    guard !answersOneClient(request, setsCookies: setsCookies, control, by: rules) else { return .keep }
    let isExplicit =
      control.maxAge != nil || control.isStorable || (fields.contains(.expires) && !control.isTargeted)
    if (200...599).contains(status.code), !control.forbidsStoring(status), variant?.isMatchable ?? true,
      isExplicit || Heuristic.statuses.contains(status.code)
    {
      return .store
    }
    return isNewerState ? .remove : .keep
  }

  /// A Boolean value that indicates whether the response is the newer state of the resource: a
  /// success, or the answer that nothing is there. Any other error may pass.
  var isNewerState: Bool { status.kind == .successful || status == .notFound || status == .gone }

  /// Returns whether the response says nothing to other requests: it answers fields that no key
  /// has, its client wants nothing to be stored, or it is the response for one user.
  private func answersOneClient(
    _ request: HTTPFields, setsCookies: Bool, _ control: CacheControl, by rules: CacheRules
  ) -> Bool {
    if UnkeyedInput.isAnswered(by: status) || RequestCacheControl(request).isNoStore || control.isForOthers {
      return true
    }
    let isError = status.kind == .clientError || status.kind == .serverError
    // In a shared cache, a user's mistake is no other's (§3.5).
    let isAuthorized = rules.isShared && request.contains(.authorization)
    if isError, isAuthorized || UnkeyedInput.isPresent(in: request) { return true }
    return (isAuthorized && !control.allowsAuthorization) || (setsCookies && !control.allowsCookies)
  }
}

/// The effect of a server's response on what is stored for its request (RFC 9111 §3, §4).
enum StorageEffect: Hashable, Sendable {
  /// The response is stored, in place of an older one.
  case store
  /// The store stays as it is: the response answers one client, or is an error that may not be
  /// stored.
  case keep
  /// The older response is removed. No cache may store the newer one.
  case remove
}

extension CacheControl {
  /// Returns whether the cache may not store a response with this status (§5.2.2.5, §5.2.2.7). With
  /// `must-understand`, the status decides instead of `no-store` (§5.2.2.3).
  func forbidsStoring(_ status: HTTPResponse.Status) -> Bool {
    isForOthers || (isMustUnderstand ? !Self.understood.contains(status.code) : isNoStore)
  }

  /// The final statuses of RFC 9110 §15.
  private static let understood = Set(
    Array(200...205) + [300, 301, 302, 303, 307, 308] + Array(400...417) + [421, 422, 426] + Array(500...505))
}

/// The fields of a response that are stored, and those that a later response updates.
package enum StoredFields {
  /// Returns the fields without those of the connection (RFC 9111 §3.1) and without secrets.
  static func of(_ fields: HTTPFields, keepsCookies: Bool) -> HTTPFields {
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

  /// Returns whether a response to HEAD shows that the stored response is the server's present one:
  /// both have a validator, and it is the same (RFC 9111 §4.3.5).
  static func validate(_ fields: HTTPFields, _ stored: Record.Head) -> Bool {
    let names: [HTTPField.Name] = [.eTag, .lastModified]
    return confirm(fields, stored) && names.contains { fields.contains($0) && stored.fields.contains($0) }
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
    /// The server sent a response of its own.
    case received(Record)
  }

  /// Returns `request` with the validators of `stored`, so that the server can answer with a 304
  /// (RFC 9111 §4.3.1).
  ///
  /// A request with conditions of its own is returned unchanged. So is a request whose method is
  /// neither GET nor HEAD: for such a method, a matching validator means 412 (RFC 9110 §13.1.2,
  /// §13.1.3).
  ///
  /// Of a stored response with another status than 200, only the entity tag is sent: a file that
  /// appears may be older than the 404 before it.
  package static func conditional(_ request: HTTPRequest, on stored: Record.Head?) -> HTTPRequest {
    guard let stored, stored.localModel == nil, !UnkeyedInput.isAnswered(by: stored.status) else { return request }
    guard request.method == .get || request.method == .head else { return request }
    let own: [HTTPField.Name] = [.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .range]
    guard own.allSatisfy({ !request.headerFields.contains($0) }) else { return request }
    var request = request
    if let tag = stored.fields[.eTag] { request.headerFields[.ifNoneMatch] = tag }
    if stored.status == .ok, let date = stored.fields[.lastModified] { request.headerFields[.ifModifiedSince] = date }
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
      receivedAt: receivedAt, variant: Variant(response: response.headerFields, request: request))
    return .received(Record(head: head, body: body))
  }
}

extension Record.Head {
  /// Returns the head after a 304, or a response to HEAD, that confirms it (RFC 9111 §3.2, §4.3.4,
  /// §4.3.5).
  func updated(by fields: HTTPFields, _ request: HTTPFields, _ requestedAt: Date, _ receivedAt: Date) -> Record.Head {
    var head = self
    // The age belonged to the earlier response.
    head.fields[.age] = nil
    for name in Set(fields.map(\.name)).subtracting(StoredFields.ofBody) {
      head.fields[fields: name] = fields[fields: name]
    }
    // The stored bytes are still in the charset of their own response.
    if ContentType.charset(of: head.fields[.contentType]) != ContentType.charset(of: self.fields[.contentType]) {
      head.fields[fields: .contentType] = self.fields[fields: .contentType]
    }
    head.requestedAt = requestedAt
    head.receivedAt = receivedAt
    head.invalidatedAt = nil
    head.keepVary(of: self)
    head.variant = Variant(response: head.fields, request: request) ?? variant
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
