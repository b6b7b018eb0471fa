/// A validator for one state of a resource (RFC 9110 §8.8.3).
package struct EntityTag: Hashable, Sendable {
  /// The text between the quotes.
  package var opaque: String
  /// A Boolean value that indicates whether the tag begins with `W/`.
  package var isWeak: Bool

  /// Parses an entity tag. Returns `nil` for text without quotes, or with a quote inside.
  package init?(_ text: String) {
    var rest = Substring(text)
    isWeak = rest.hasPrefix("W/")
    if isWeak { rest = rest.dropFirst(2) }
    guard rest.utf8.count >= 2, rest.hasPrefix("\""), rest.hasSuffix("\""),
      !rest.dropFirst().dropLast().utf8.contains(UInt8(ascii: "\""))
    else { return nil }
    opaque = String(rest.dropFirst().dropLast())
  }

  /// Returns whether both tags have the same bytes, weak or strong (§8.8.3.2).
  package func weaklyMatches(_ other: EntityTag) -> Bool { opaque.hasSameBytes(as: other.opaque) }
}
