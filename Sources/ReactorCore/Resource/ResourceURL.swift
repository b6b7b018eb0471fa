import Foundation

/// The absolute URL of a resource: its path joined to the base URL by text, so that nothing encoded is encoded twice.
struct ResourceURL: Sendable {
  private let base: BaseURL
  /// The path and query of the request line.
  let target: String

  var scheme: String { base.origin.scheme }
  /// Host, and port where it is not the scheme's own.
  var authority: String { base.authority }
  var absoluteString: String { "\(scheme)://\(authority)\(target)" }

  /// - Throws: ``ReactorError/invalidResource(_:)`` where the path is a URL of its own or leaves the base URL.
  init(_ resource: Resource, base: BaseURL) throws(ReactorError) {
    self.base = base
    let written = resource.path
    let mark = written.utf8.firstIndex(of: UInt8(ascii: "?"))
    let path = try Self.join(base, mark.map { String(written[..<$0]) } ?? written)
    guard mark != nil || base.query != nil || !resource.query.isEmpty else {
      target = path
      return
    }
    var queries = [base.query].compactMap(\.self)
    if let mark { queries.append(PercentEncoding.writtenQuery(written[written.utf8.index(after: mark)...])) }
    queries += resource.query.map { item in
      let name = PercentEncoding.queryItem(item.name)
      return item.value.map { "\(name)=\(PercentEncoding.queryItem($0))" } ?? name
    }
    let query = queries.filter { !$0.isEmpty }.joined(separator: "&")
    target = query.isEmpty ? path : "\(path)?\(query)"
  }

  private static func join(_ base: BaseURL, _ path: String) throws(ReactorError) -> String {
    if let beginning = beginningOfURL(path) {
      throw .invalidResource(
        "the path is an absolute URL (\(beginning)…); give a path relative to the base URL, or another base URL")
    }
    if path.hasPrefix("//") {
      throw .invalidResource("the path begins with //, which names another host; give a path relative to the base URL")
    }
    guard !path.isEmpty else { return base.path.isEmpty ? "/" : base.path }
    let relative = path.hasPrefix("/") ? String(path.dropFirst()) : path
    return "\(base.root)/\(try removingDotSegments(PercentEncoding.path(relative)))"
  }

  /// The scheme with `:/` that a URL begins with (RFC 3986 §3.1); `nil` for a path. Without a regular expression, which costs more than the
  /// rest of a key.
  private static func beginningOfURL(_ path: String) -> Substring? {
    guard let colon = path.utf8.firstIndex(of: UInt8(ascii: ":")), let first = path.utf8.first,
      path[colon...].hasPrefix(":/")
    else { return nil }
    let isLetter = { (byte: UInt8) in (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
    let isScheme = path.utf8[..<colon].allSatisfy { byte in
      isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+.-".utf8.contains(byte)
    }
    return isLetter(first) && isScheme ? path[...path.utf8.index(after: colon)] : nil
  }

  /// RFC 3986 §5.2.4, for a path that may not climb above where it begins. `%2e` is a dot too: servers treat it as one.
  private static func removingDotSegments(_ path: String) throws(ReactorError) -> String {
    guard path.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") }) else { return path }
    var kept: [Substring] = []
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch plainDots(segment) {
      case ".":
        if isLast { kept.append("") }
      case "..":
        guard kept.popLast() != nil else {
          throw .invalidResource("the path leaves the base URL (..); give a path below it, or another base URL")
        }
        if isLast { kept.append("") }
      default:
        kept.append(segment)
      }
    }
    return kept.joined(separator: "/")
  }

  /// The segment with its dots decoded, where it is short enough to be a dot segment.
  private static func plainDots(_ segment: Substring) -> String {
    segment.utf8.count <= 6 && segment.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") }
      ? segment.lowercased().replacing("%2e", with: ".") : ""
  }
}
