/// Finds the secrets in a URL, or in text that contains URLs.
///
/// A secret is the value of a named item of a query or a fragment, or the user and password of a
/// URL. Percent-encoding does not hide it, however often it was applied, because the scanner reads
/// the fully decoded text. It reads each byte a fixed number of times.
package struct SecretScanner {
  /// The shape of the text.
  enum Text {
    /// One URL from beginning to end.
    case url
    /// Prose or a list. White space, quotes and angle brackets end a URL (RFC 3986 §2).
    case prose
  }

  /// A character of the decoded text.
  private struct Token {
    let byte: UInt8
    /// The number of times that the character was percent-encoded, at most ``deepest``.
    let depth: UInt8
    /// The offset of the character in the encoded text.
    let start: Int
  }

  /// The greatest depth that counts. It limits how often nested URLs make the scanner read one
  /// byte.
  private static let deepest: UInt8 = 3

  private let names: Set<String>
  private let text: Text
  private let tokens: [Token]
  private let end: Int

  /// - Parameter names: The names of secret items, in lower case.
  init(_ bytes: [UInt8], names: Set<String>, _ text: Text) {
    self.names = names
    self.text = text
    tokens = Self.decoded(bytes)
    end = bytes.count
  }

  /// Returns the ranges of the secrets in the encoded text, in order.
  func secrets() -> [Range<Int>] {
    var (secrets, index) = ([Range<Int>](), 0)
    while index < tokens.count {
      if let value = value(after: index) ?? user(after: index) {
        secrets.append(start(value.lowerBound)..<start(value.upperBound))
        index = value.upperBound
      } else {
        index += 1
      }
    }
    return secrets
  }

  private func start(_ index: Int) -> Int { index < tokens.count ? tokens[index].start : end }

  /// Returns the range of a secret item's value, if the item begins after the token at `index`.
  ///
  /// An item begins after `?`, `&`, `;`, or the `#` of a fragment. Its value ends before an `&` or
  /// a `#` that is encoded no deeper than the item's `=`. A `;` does not end the value, because
  /// some servers take it for a part of the value.
  private func value(after index: Int) -> Range<Int>? {
    guard isStart(tokens[index]) else { return nil }
    // The start of the next item ends the name, so no byte is read for two names.
    var equals = index + 1
    while equals < tokens.count, tokens[equals].byte != UInt8(ascii: "="), !isStart(tokens[equals]),
      !endsURL(tokens[equals])
    { equals += 1 }
    guard equals < tokens.count, tokens[equals].byte == UInt8(ascii: "="), isSecret(tokens[(index + 1)..<equals]) else {
      return nil
    }
    var last = equals + 1
    while last < tokens.count, !endsValue(tokens[last], depth: tokens[equals].depth) { last += 1 }
    return (equals + 1)..<last
  }

  /// Returns the range of the user and password, if an authority begins with two slashes at `index`
  /// (RFC 3986 §3.2.1).
  private func user(after index: Int) -> Range<Int>? {
    guard index + 1 < tokens.count, tokens[index].byte == Self.slash, tokens[index + 1].byte == Self.slash,
      index == 0 || beginsAuthority(after: tokens[index - 1])
    else { return nil }
    let depth = max(tokens[index].depth, tokens[index + 1].depth)
    var (last, at) = (index + 2, nil as Int?)
    while last < tokens.count, !endsAuthority(tokens[last], depth: depth) {
      if tokens[last].byte == UInt8(ascii: "@") { at = last }
      last += 1
    }
    return at.map { (index + 2)..<$0 }
  }

  /// Returns whether `name` is secret, or a part of it inside or before brackets is, as in
  /// `token[]` and `user[password]`.
  private func isSecret(_ name: ArraySlice<Token>) -> Bool {
    let name = name.map(\.byte)
    return name.split { "[] +".utf8.contains($0) }.contains { part in
      names.contains(String(decoding: part, as: UTF8.self).lowercased())
    } || names.contains(String(decoding: name, as: UTF8.self).lowercased())
  }
}

extension SecretScanner {
  private static let slash = UInt8(ascii: "/")

  private func isStart(_ token: Token) -> Bool {
    switch token.byte {
    case UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: ";"), UInt8(ascii: "#"): true
    default: false
    }
  }

  private func endsValue(_ token: Token, depth: UInt8) -> Bool {
    switch token.byte {
    case UInt8(ascii: "&"), UInt8(ascii: "#"): token.depth <= depth
    default: endsURL(token)
    }
  }

  private func endsAuthority(_ token: Token, depth: UInt8) -> Bool {
    switch token.byte {
    case Self.slash, UInt8(ascii: "?"), UInt8(ascii: "#"): token.depth <= depth
    case UInt8(ascii: "&"): token.depth < depth
    default: endsURL(token)
    }
  }

  private func beginsAuthority(after token: Token) -> Bool {
    token.byte == UInt8(ascii: ":") || token.byte == UInt8(ascii: "=") || endsURL(token)
  }

  private func endsURL(_ token: Token) -> Bool { text == .prose && token.depth == 0 && Self.isNoPartOfURL(token.byte) }

  /// Returns whether a byte ends a URL in prose.
  package static func isNoPartOfURL(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "\"")
  }

  /// Returns the bytes with all percent-encoding undone, including encoding that only decoding
  /// reveals. Two encodings never overlap, so their order makes no difference and one pass is
  /// enough.
  private static func decoded(_ bytes: [UInt8]) -> [Token] {
    var tokens: [Token] = []
    tokens.reserveCapacity(bytes.count)
    for (start, byte) in bytes.enumerated() {
      tokens.append(Token(byte: byte, depth: 0, start: start))
      while let token = encoded(tokens.suffix(3)) {
        tokens.removeLast(3)
        tokens.append(token)
      }
    }
    return tokens
  }

  /// Returns the token that three tokens encode, or `nil` if they are not a `%` and two digits.
  private static func encoded(_ last: ArraySlice<Token>) -> Token? {
    guard last.count == 3, last[last.startIndex].byte == UInt8(ascii: "%"),
      let high = digit(last[last.startIndex + 1].byte), let low = digit(last[last.startIndex + 2].byte)
    else { return nil }
    let depth = min(deepest, 1 + (last.map(\.depth).max() ?? 0))
    return Token(byte: high << 4 | low, depth: depth, start: last[last.startIndex].start)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
