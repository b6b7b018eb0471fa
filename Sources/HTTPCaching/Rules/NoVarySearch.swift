package import HTTPTypes

/// The value of `No-Vary-Search`: which parts of a query select no other response
/// (draft-ietf-httpbis-no-vary-search-10).
///
/// Names and values are compared as decoded bytes, by the rules of
/// `application/x-www-form-urlencoded` but without a pass through Unicode: two byte sequences that
/// are both invalid UTF-8 are not equal.
package struct NoVarySearch: Sendable, Hashable {
  static let field = HTTPField.Name("No-Vary-Search") ?? .vary
  private static let longestField = 4 << 10
  private static let mostNames = 64
  private static let mostItems = 256

  /// The decoded names of the list.
  private let names: Set<[UInt8]>
  /// A Boolean value that indicates whether the items in ``names`` vary, and no others.
  private let isExcept: Bool
  private let ignoresKeyOrder: Bool

  /// Reads the value of a response.
  ///
  /// - Returns: `nil` if only the exact query matches: the field is missing, has the default value,
  ///   is invalid in any part, or exceeds 4 KiB or 64 names.
  package init?(_ fields: HTTPFields) {
    guard fields.contains(Self.field),
      fields[values: Self.field].reduce(0, { $0 + $1.utf8.count }) <= Self.longestField,
      let members = StructuredField.dictionary(fields, Self.field),
      members["params"] == nil || members["except"] == nil
    else { return nil }
    switch members["key-order"]?.value {
    case nil: ignoresKeyOrder = false
    case .boolean(let isSet): ignoresKeyOrder = isSet
    default: return nil
    }
    isExcept = members["except"] != nil
    guard let names = Self.names(members[isExcept ? "except" : "params"]) else { return nil }
    self.names = names
    if names.isEmpty, !isExcept, !ignoresKeyOrder { return nil }
  }

  /// Returns the decoded strings of an inner list, none for a missing one, and `nil` for any other
  /// type.
  private static func names(_ member: StructuredField.Item?) -> Set<[UInt8]>? {
    guard let member else { return [] }
    guard case .innerList(let items) = member.value, items.count <= mostNames else { return nil }
    var names: Set<[UInt8]> = []
    for item in items {
      guard case .string(let text) = item.value else { return nil }
      names.insert(decoded(Array(text.utf8)[...]))
    }
    return names
  }

  /// Returns the query that all equivalent queries have in common, in one spelling.
  ///
  /// - Parameter query: The text after the `?` of a key's URL, in which secrets are digested. An
  ///   item with such a digest always varies.
  /// - Returns: `nil` if the query has more than 256 items.
  func simplified(_ query: Substring.UTF8View) -> String? {
    let items = Array(query).split(separator: UInt8(ascii: "&"))
    guard items.count <= Self.mostItems else { return nil }
    var kept: [(name: [UInt8], value: [UInt8])] = []
    for item in items {
      let end = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
      let name = Self.decoded(item[..<end])
      guard names.contains(name) == isExcept || item.contains(SecretDigests.prefix.utf8) else { continue }
      kept.append((name, Self.decoded(item[end...].dropFirst())))
    }
    if ignoresKeyOrder {
      // `sort` is not stable, and the order of the values of one name counts.
      kept = kept.enumerated().sortedUnspecialized { a, b in
        a.element.name == b.element.name
          ? a.offset < b.offset : a.element.name.lexicographicallyPrecedes(b.element.name)
      }.map(\.element)
    }
    return kept.map { Self.encoded($0.name) + "=" + Self.encoded($0.value) }.joined(separator: "&")
  }

  /// Decodes `+` and percent-encodings. A `%` without two digits stays.
  private static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var decoded: [UInt8] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if byte == UInt8(ascii: "%"), index + 2 < bytes.endIndex,
        let high = NormalURL.digit(bytes[index + 1]), let low = NormalURL.digit(bytes[index + 2])
      {
        decoded.append(high << 4 | low)
        index += 3
      } else {
        decoded.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        index += 1
      }
    }
    return decoded
  }

  private static func encoded(_ bytes: [UInt8]) -> String {
    var encoded: [UInt8] = []
    for byte in bytes {
      if PercentEncoding.isUnreserved(byte) { encoded.append(byte) } else { NormalURL.encode(byte, to: &encoded) }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
