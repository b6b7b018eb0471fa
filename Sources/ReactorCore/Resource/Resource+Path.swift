import Foundation

extension Resource {
  /// A path that is written as a literal. Each interpolated value stays where it is put.
  ///
  /// ```swift
  /// let post = try await posts.fetch("posts/\(id)")
  /// let removal = Resource("posts/\(id)/comments/\(comment)", method: .delete)
  /// let found = try await posts.fetch("search?q=\(text)")
  /// ```
  ///
  /// Before the `?`, a value is part of one segment: a `/` in it is sent as `%2F`, a `?` as `%3F`. After the `?`, it is
  /// part of one query item. A segment with a value in it that is empty, `.` or `..` would lead elsewhere: a fetch
  /// refuses it with ``ReactorError/invalidResource(_:)``, and says which value it was.
  ///
  /// A prefix of several segments that the program itself has goes in with `raw`:
  ///
  /// ```swift
  /// let post: Resource = "\(raw: version)/posts/\(id)"
  /// ```
  public struct Path: Sendable, ExpressibleByStringInterpolation {
    /// Percent-encoded where a value was put in, otherwise as it was written.
    let text: String
    /// Why it cannot be requested.
    let fault: String?

    @usableFromInline init(text: String) {
      self.text = text
      fault = nil
    }

    public init(stringLiteral value: String) { self.init(text: value) }

    public init(stringInterpolation: StringInterpolation) {
      text = stringInterpolation.text
      fault = stringInterpolation.fault
    }
  }
}

extension Resource.Path {
  /// Puts a path together. The compiler uses it for a literal with values in it.
  public struct StringInterpolation: StringInterpolationProtocol, Sendable {
    fileprivate private(set) var text = ""
    /// The values that were put into the path: what stands before each, and where in ``text`` it begins.
    private var values: [(literal: String, offset: Int)] = []
    private var literal = ""
    private var isInQuery = false

    public init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + interpolationCount * 16)
    }

    public mutating func appendLiteral(_ literal: String) {
      self.literal = literal
      append(raw: literal)
    }

    /// Part of one segment or, after a `?`, of one query item; percent-encoded.
    public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
      closePercent()
      if isInQuery {
        text += PercentEncoding.queryItem(value.description)
      } else {
        values.append((literal, text.utf8.count))
        text += PercentEncoding.segment(value.description)
      }
    }

    /// Text that is taken as if it stood in the literal: a `/`, a `?` and what is percent-encoded keep their meaning.
    /// Never for a value of a user or a server.
    public mutating func appendInterpolation(raw text: String) {
      closePercent()
      append(raw: text)
    }

    private mutating func append(raw part: String) {
      text += part
      isInQuery = isInQuery || part.utf8.contains(UInt8(ascii: "?"))
    }

    /// A lone `%` of the literal would take the first digits of what follows for its own.
    private mutating func closePercent() {
      while let percent = text.utf8.suffix(2).firstIndex(of: UInt8(ascii: "%")) {
        text.replaceSubrange(percent...percent, with: "%25")
      }
    }
  }
}

extension Resource.Path.StringInterpolation {
  /// Which value makes a segment that leads elsewhere; `nil` where none does.
  fileprivate var fault: String? {
    for (index, value) in values.enumerated() {
      let offset = text.utf8.index(text.startIndex, offsetBy: value.offset)
      let start = text.utf8[..<offset].lastIndex(of: UInt8(ascii: "/")).map { text.utf8.index(after: $0) }
      let end = text.utf8[offset...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
      let segment = text[(start ?? text.startIndex)..<(end ?? text.endIndex)]
      let dots = ResourceURL.plainDots(segment)
      guard segment.isEmpty || dots == "." || dots == ".." else { continue }
      let place = "value \(index + 1) of the path" + (value.literal.isEmpty ? "" : ", after \"\(value.literal)\",")
      return "\(place) makes \(segment.isEmpty ? "an empty segment" : "the segment \(dots)"), which leads elsewhere; "
        + "check it before the fetch"
    }
    return nil
  }
}

extension Resource {
  /// The path with the query, percent-encoded: what names the resource where there is no base URL.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` where a value leaves its segment.
  func pathAndQuery() throws(ReactorError) -> String {
    if case .refused(let reason) = reading { throw .invalidResource(reason) }
    let mark = path.utf8.firstIndex(of: UInt8(ascii: "?"))
    let items = query.map(\.encoded)
    let written = mark.map { [PercentEncoding.writtenQuery(path[path.utf8.index(after: $0)...])] } ?? []
    let query = (written + items).filter { !$0.isEmpty }.joined(separator: "&")
    let encoded = PercentEncoding.path(mark.map { path[..<$0] } ?? path[...])
    return query.isEmpty ? encoded : "\(encoded)?\(query)"
  }
}

extension URLQueryItem {
  /// As it stands in a URL.
  var encoded: String {
    let name = PercentEncoding.queryItem(name)
    return value.map { "\(name)=\(PercentEncoding.queryItem($0))" } ?? name
  }
}

extension Resource {
  /// The target of a link that a server gave, such as the `next` of a page: a URL of the layer's origin, or an absolute
  /// path there. The path of the base URL does not count.
  ///
  /// ```swift
  /// let next = try await issues.fetch(Resource(link: page.nextURL))
  /// ```
  ///
  /// A `Link` field's target comes from ``ModelResponse/link(rel:)``. A fetch refuses another origin, and a reference
  /// that is relative to its page, with ``ReactorError/invalidResource(_:)``.
  public init(link target: String) { self = Resource(Path(text: "")).at(link: target) }
}
