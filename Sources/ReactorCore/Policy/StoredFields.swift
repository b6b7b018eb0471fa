import HTTPTypes

/// Which fields of a response are stored, and which of them a later answer renews.
enum StoredFields {
  /// The response's fields without those that belong to the connection (RFC 9111 §3.1), and without secrets.
  static func of(_ fields: HTTPFields, keepsCookies: Bool) -> HTTPFields {
    var left = connection.union(Redaction.secretFields)
    if keepsCookies { left.remove(.setCookie) }
    fields.forEachElement(of: .connection) { if let name = HTTPField.Name($0.text) { left.insert(name) } }
    return HTTPFields(fields.filter { !left.contains($0.name) })
  }

  /// Whether a 304's validators are those of what is stored, as far as it has any (RFC 9111 §4.3.4): otherwise it confirms
  /// another representation, and updates nothing.
  static func confirm(_ fields: HTTPFields, _ stored: Record.Head) -> Bool {
    if let tag = fields[.eTag], let own = stored.fields[.eTag] {
      guard let tag = EntityTag(tag), let own = EntityTag(own) else { return tag == own }
      return tag.isWeak ? tag.weaklyMatches(own) : tag.stronglyMatches(own)
    }
    guard let date = fields[.lastModified], let own = stored.fields[.lastModified] else { return true }
    return date == own
  }

  /// What describes the stored bytes (§3.2).
  static let ofBody: Set<HTTPField.Name> = [.contentLength, .contentEncoding, .contentRange]

  private static let connection: Set<HTTPField.Name> = Set(
    [
      .connection, .proxyAuthenticate, .proxyAuthenticationInfo, .proxyAuthorization, .te, .trailer, .transferEncoding,
      .upgrade,
    ] + ["Keep-Alive", "Proxy-Connection"].compactMap { HTTPField.Name($0) })
}
