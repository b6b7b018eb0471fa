import Foundation

extension Resource {
  /// A path written as a literal, in which interpolated values are percent-encoded.
  ///
  /// ```swift
  /// let post = try await posts.fetch("posts/\(id)")
  /// let removal = Resource("posts/\(id)/comments/\(comment)", method: .delete)
  /// let found = try await posts.fetch("search?q=\(text)")
  /// ```
  ///
  /// Before the `?`, a value is part of one segment: a `/` in it is sent as `%2F`, a `?` as `%3F`.
  /// After the `?`, it is part of one query item.
  ///
  /// A segment with a value that is empty, `.` or `..` would lead elsewhere. A fetch of such a path
  /// fails with ``ReactorError/invalidResource(_:)``, which names the value.
  ///
  /// To insert trusted text of several segments, use `raw`:
  ///
  /// ```swift
  /// let post: Resource = "\(raw: version)/posts/\(id)"
  /// ```
  public struct Path: Sendable, ExpressibleByStringInterpolation {
    /// The path, in which only the interpolated values are percent-encoded.
    let text: String
    /// The reason why it cannot be requested; `nil` if it can.
    let fault: String?

    @usableFromInline init(text: String) {
      self.text = text
      fault = nil
    }

    public init(stringLiteral value: String) { self.init(text: value) }

    /// Creates a path from a literal with interpolated values. The compiler calls it.
    public init(stringInterpolation: StringInterpolation) {
      text = stringInterpolation.text
      fault = stringInterpolation.fault
    }
  }
}

extension Resource.Path {
  /// The builder of a path from a literal with values. The compiler uses it.
  public struct StringInterpolation: StringInterpolationProtocol, Sendable {
    fileprivate private(set) var text = ""
    /// The interpolated values: the literal before each, and its offset in ``text``.
    private var values: [(literal: String, offset: Int)] = []
    private var literal = ""
    private var isInQuery = false

    /// Creates an empty path with room for the literal and its values.
    public init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + interpolationCount * 16)
    }

    /// Appends a part of the literal as it is written.
    public mutating func appendLiteral(_ literal: String) {
      self.literal = literal
      append(raw: literal)
    }

    /// Appends a value, percent-encoded, as part of one segment or, after a `?`, of one query item.
    public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
      closePercent()
      if isInQuery {
        text += PercentEncoding.queryItem(value.description)
      } else {
        values.append((literal, text.utf8.count))
        text += PercentEncoding.segment(value.description)
      }
    }

    /// Appends text as if it were part of the literal: a `/`, a `?` and percent-encoding keep their
    /// meaning.
    ///
    /// ```swift
    /// let base = "2026/stories"
    /// let list = try await stories.fetch("archive/\(raw: base)")  // the slash stays a slash
    /// ```
    ///
    /// Do not use it for a value from a user or a server.
    public mutating func appendInterpolation(raw text: String) {
      closePercent()
      append(raw: text)
    }

    private mutating func append(raw part: String) {
      text += part
      isInQuery = isInQuery || part.utf8.contains(UInt8(ascii: "?"))
    }

    /// Encodes a lone `%` at the end, which would otherwise absorb the first digits of the next
    /// value.
    private mutating func closePercent() {
      while let percent = text.utf8.suffix(2).firstIndex(of: UInt8(ascii: "%")) {
        text.replaceSubrange(percent...percent, with: "%25")
      }
    }
  }
}

extension Resource.Path.StringInterpolation {
  /// The description of the first value that makes a segment lead elsewhere; `nil` if none does.
  fileprivate var fault: String? {
    for (index, value) in values.enumerated() {
      let offset = text.utf8.index(text.startIndex, offsetBy: value.offset)
      let start = text.utf8[..<offset].lastIndex(of: UInt8(ascii: "/")).map { text.utf8.index(after: $0) }
      let end = text.utf8[offset...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
      let segment = text[(start ?? text.startIndex)..<(end ?? text.endIndex)]
      let dots = ResourceURL.plainDots(segment)
      guard segment.isEmpty || dots == "." || dots == ".." else { continue }
      let place = "value \(index + 1) of the path" + (value.literal.isEmpty ? "" : ", after \"\(value.literal)\",")
      return
        "\(place) makes \(segment.isEmpty ? "an empty segment" : "the segment \(dots)"), which would change the path; "
        + "check the value before the fetch"
    }
    return nil
  }
}

extension Resource {
  /// Returns the percent-encoded path with its query, which identifies the resource if there is no
  /// base URL.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` if a value makes its segment lead elsewhere.
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
  /// The item as it is written in a URL.
  var encoded: String {
    let name = PercentEncoding.queryItem(name)
    return value.map { "\(name)=\(PercentEncoding.queryItem($0))" } ?? name
  }
}

extension Resource {
  /// Creates a `GET` of a link that a server sent, such as the `next` URL in the body of a page.
  ///
  /// ```swift
  /// let next = try await issues.fetch(Resource(link: page.nextURL))
  /// ```
  ///
  /// The target is a URL of the layer's origin, or an absolute path there. It may lie outside the
  /// base URL's path. For the target of a `Link` header field, use ``ModelResponse/link(rel:)``.
  ///
  /// A fetch of another origin, or of a reference that is relative to its page, fails with
  /// ``ReactorError/invalidResource(_:)``.
  public init(link target: String) { self = Resource(Path(text: "")).at(link: target) }
}
