public import HTTPTypes

extension Resource {
  /// One link of a `Link` field (RFC 8288).
  public struct Link: Sendable, Hashable {
    /// The reference as the server wrote it: a URL, or a reference relative to the URL of the page.
    public let target: String
    /// The relation types in lower case, such as `next`, `prev` and `last`; empty without a `rel`.
    public let relations: [String]
    /// The parameters in order, `rel` included.
    public let parameters: [Parameter]

    /// A parameter of a link.
    public struct Parameter: Sendable, Hashable {
      /// The name, in lower case.
      public let name: String
      /// The value without its quotes; empty without a value.
      public let value: String
    }

    /// Returns the value of the first parameter with a name, whose case does not matter; `nil` if
    /// the link has no such parameter.
    public subscript(_ name: String) -> String? { parameters.first { $0.name == name.lowercased() }?.value }

    /// Returns the links of all `Link` fields, in order.
    ///
    /// ```swift
    /// let next = Resource.Link.links(in: headers).first { $0.relations.contains("next") }?.target
    /// ```
    ///
    /// Parsing of a field stops at its first malformed part. The links before it are returned.
    public static func links(in fields: HTTPFields) -> [Resource.Link] {
      guard let name = HTTPField.Name("Link") else { return [] }
      return fields[values: name].flatMap { value in
        var scanner = WebLinkScanner(value)
        return scanner.links()
      }
    }

    fileprivate init(target: String, parameters: [Parameter]) {
      self.target = target
      self.parameters = parameters
      // Only the first `rel` counts (RFC 8288 §3.3).
      let relation = parameters.first { $0.name == "rel" }?.value ?? ""
      relations = relation.lowercased().split { $0 == " " || $0 == "\t" }.map(String.init)
    }
  }
}

/// The parser of a `Link` field (RFC 8288, appendix B).
private struct WebLinkScanner {
  private var rest: ArraySlice<UInt8>

  init(_ value: String) { rest = Array(value.utf8)[...] }

  mutating func links() -> [Resource.Link] {
    var links: [Resource.Link] = []
    while true {
      _ = consume { Self.isSpace($0) || $0 == UInt8(ascii: ",") }
      guard skip("<") else { return links }
      let target = consume { $0 != UInt8(ascii: ">") }
      guard skip(">") else { return links }
      links.append(Resource.Link(target: Self.trimmed(target), parameters: parameters()))
      guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return links }
    }
  }

  private mutating func parameters() -> [Resource.Link.Parameter] {
    var parameters: [Resource.Link.Parameter] = []
    skipSpace()
    while skip(";") {
      skipSpace()
      let name = consume { !Self.isSpace($0) && !"=;,".utf8.contains($0) }
      skipSpace()
      var value = ""
      if skip("=") {
        skipSpace()
        value = skip("\"") ? quoted() : Self.trimmed(consume { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") })
      }
      if !name.isEmpty {
        parameters.append(
          Resource.Link.Parameter(name: String(decoding: name, as: UTF8.self).lowercased(), value: value))
      }
      skipSpace()
    }
    return parameters
  }

  /// Reads up to the closing quote, or to the end, and removes the escapes.
  private mutating func quoted() -> String {
    var value: [UInt8] = []
    while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
      if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() { value.append(escaped) } else { value.append(byte) }
    }
    return String(decoding: value, as: UTF8.self)
  }

  private mutating func consume(_ belongs: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let taken = rest.prefix(while: belongs)
    rest = rest[taken.endIndex...]
    return taken
  }

  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func skipSpace() { _ = consume(Self.isSpace) }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
    let start = bytes.drop(while: isSpace)
    return String(
      decoding: start.prefix(start.lastIndex { !isSpace($0) }.map { $0 + 1 - start.startIndex } ?? 0), as: UTF8.self)
  }
}
