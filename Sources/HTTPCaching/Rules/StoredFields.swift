package import HTTPTypes

/// Which fields of a response are stored, and which of them a later answer renews.
package enum StoredFields {
  /// The response's fields without those that belong to the connection (RFC 9111 §3.1), and without secrets.
  static func of(_ fields: HTTPFields, keepsCookies: Bool) -> HTTPFields {
    let always = keepsCookies ? unstoredButCookies : unstored
    var named: Set<HTTPField.Name> = []
    fields.forEachElement(of: .connection) { if let name = HTTPField.Name($0.text) { named.insert(name) } }
    return fields.filter { !always.contains($0.name) && !named.contains($0.name) }
  }

  /// Whether a 304's validators are those of what is stored, as far as it has any (RFC 9111 §4.3.4): otherwise it confirms
  /// another representation, and updates nothing. Compared weakly, as the server did (RFC 9110 §13.1.2): some weaken the tag of
  /// a response that they compress, and not that of its 304.
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

  /// What describes the stored bytes (§3.2).
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
