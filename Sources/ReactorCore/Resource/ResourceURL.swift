import Foundation

/// The absolute URL of a resource. Paths are joined as text, so that nothing is percent-encoded
/// twice.
struct ResourceURL: Sendable {
  private let base: BaseURL
  /// The path and query of the request line.
  let target: String

  var scheme: String { base.origin.scheme }
  /// The host, with the port unless it is the scheme's default.
  var authority: String { base.authority }
  var absoluteString: String { base.start + target }

  /// Creates the URL of a resource under a base URL.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` if the path is an absolute URL or leaves the
  ///   base URL.
  init(_ resource: Resource, base: BaseURL) throws(ReactorError) {
    self.base = base
    switch resource.reading {
    case .relative: break
    case .link:
      target = try Self.linked(resource, base)
      return
    case .refused(let reason): throw .invalidResource(reason)
    }
    let written = resource.path
    if base.query == nil, resource.query.isEmpty, Self.isPlain(written) {
      target = "\(base.root)/\(written)"
      return
    }
    let mark = written.utf8.firstIndex(of: UInt8(ascii: "?"))
    let path = try Self.join(base, mark.map { String(written[..<$0]) } ?? written)
    guard mark != nil || base.query != nil || !resource.query.isEmpty else {
      target = path
      return
    }
    var queries = [base.query].compactMap(\.self)
    if let mark { queries.append(PercentEncoding.writtenQuery(written[written.utf8.index(after: mark)...])) }
    queries += resource.query.map(\.encoded)
    let query = queries.filter { !$0.isEmpty }.joined(separator: "&")
    target = query.isEmpty ? path : "\(path)?\(query)"
  }

  /// Returns `true` if a relative path is sent as it is written: it has only letters, digits,
  /// hyphens, underscores and slashes, and a slash is not first.
  private static func isPlain(_ path: String) -> Bool {
    let isPlain = path.utf8.withContiguousStorageIfAvailable { bytes in
      bytes.first.map { $0 != UInt8(ascii: "/") } == true
        && bytes.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "/")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
          default: false
          }
        }
    }
    return isPlain == true
  }

  /// Returns the path and query of a link's target. The base URL's query is left out, since the
  /// link has its own.
  private static func linked(_ resource: Resource, _ base: BaseURL) throws(ReactorError) -> String {
    let rest = try pathOfLink(resource.path.prefix { $0 != "#" }, base)
    let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
    let path = "/\(try removingDotSegments(PercentEncoding.path(rest[..<mark].dropFirst())))"
    let written = rest[mark...].isEmpty ? [] : [PercentEncoding.writtenQuery(rest[mark...].dropFirst())]
    let query = (written + resource.query.map(\.encoded)).filter { !$0.isEmpty }.joined(separator: "&")
    return query.isEmpty ? path : "\(path)?\(query)"
  }

  /// Returns the absolute path with the query of a link's target, which is such a path or a URL of
  /// the base URL's origin.
  private static func pathOfLink(_ target: Substring, _ base: BaseURL) throws(ReactorError) -> Substring {
    if beginningOfURL(String(target)) == nil {
      guard target.hasPrefix("/"), !target.hasPrefix("//") else {
        throw .invalidResource("the link is neither a URL nor a path that begins with /; resolve it against its page")
      }
      return target
    }
    guard let url = URL(string: String(target)), let origin = WebOrigin(url), url.user == nil, url.password == nil
    else {
      throw .invalidResource("the link is not an http or https URL with a host, or it contains a user or a password")
    }
    guard origin == base.origin else { throw otherOrigin(origin) }
    let colon = target.utf8.firstIndex(of: UInt8(ascii: ":")) ?? target.startIndex
    let path = target[colon...].dropFirst(3).drop { $0 != "/" && $0 != "?" }
    return path.hasPrefix("/") ? path : "/\(path)"
  }

  static func otherOrigin(_ origin: WebOrigin) -> ReactorError {
    .invalidResource(
      "the link leads to another origin (\(origin.scheme)://\(origin.authority)); fetch it with a layer of that origin")
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

  /// Returns the scheme with `:/` at the start of a URL (RFC 3986 §3.1); `nil` for a path. It uses
  /// no regular expression, which would cost more than the rest of a key.
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

  /// Removes dot segments (RFC 3986 §5.2.4) from a path that may not leave its start. `%2e` counts
  /// as a dot, as it does for servers.
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

  /// Returns the segment in lower case with its dots decoded, if it is short enough to be a dot
  /// segment; otherwise an empty string.
  static func plainDots(_ segment: Substring) -> String {
    segment.utf8.count <= 6 && segment.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") }
      ? segment.lowercased().replacing("%2e", with: ".") : ""
  }
}

/// The parts of a base URL, parsed once for all resources of a backend.
final class BaseURL: Sendable {
  let origin: WebOrigin
  /// The host, with the port unless it is the scheme's default.
  let authority: String
  /// The scheme and the authority, as a URL begins.
  let start: String
  /// The path without a trailing slash, percent-encoded.
  let root: String
  /// The path as it was given, percent-encoded.
  let path: String
  /// The query, percent-encoded.
  let query: String?

  /// Parses a base URL.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` if it is not an `http` or `https` URL with a
  ///   host, or has a user or a password.
  init(_ url: URL) throws(ReactorError) {
    guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let origin = WebOrigin(url) else {
      throw .invalidResource("the base URL needs http or https and a host, as in https://api.example.com/v1")
    }
    guard parts.user == nil, parts.password == nil else {
      throw .invalidResource("the base URL holds a user or a password; send them as an Authorization field")
    }
    self.origin = origin
    authority = origin.authority
    start = "\(origin.scheme)://\(authority)"
    path = parts.percentEncodedPath
    root = path.hasSuffix("/") ? String(path.dropLast()) : path
    query = parts.percentEncodedQuery
  }
}
