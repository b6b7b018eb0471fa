/// A validator that stands for one state of a resource (RFC 9110 §8.8.3).
struct EntityTag: Hashable, Sendable {
  /// What is between the quotes.
  var opaque: String
  var isWeak: Bool

  /// `nil` for what is no entity tag: one without quotes, or with a quote inside.
  init?(_ text: String) {
    var rest = Substring(text)
    isWeak = rest.hasPrefix("W/")
    if isWeak { rest = rest.dropFirst(2) }
    guard rest.utf8.count >= 2, rest.hasPrefix("\""), rest.hasSuffix("\""),
      !rest.dropFirst().dropLast().utf8.contains(UInt8(ascii: "\""))
    else { return nil }
    opaque = String(rest.dropFirst().dropLast())
  }

  /// §8.8.3.2: both are strong and the same.
  func stronglyMatches(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && weaklyMatches(other) }

  /// §8.8.3.2: the same, whether weak or not. Compared as bytes.
  func weaklyMatches(_ other: EntityTag) -> Bool { opaque.isSpelled(as: other.opaque) }
}
