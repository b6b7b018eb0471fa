import Foundation

/// The absolute URL of a resource: its path joined to the base URL by text, so that nothing encoded is encoded twice.
struct ResourceURL: Hashable, Sendable {
  let scheme: String
  /// Host, and port where the base URL has one.
  let authority: String
  /// Host alone, lower-cased, without brackets.
  let host: String
  /// The path and query of the request line.
  let target: String

  var absoluteString: String { "\(scheme)://\(authority)\(target)" }

  /// - Throws: ``ReactorError/invalidResource(_:)`` where the path is a URL of its own or leaves the base URL, or the base
  ///   URL is not one of `http` or `https` with a host.
  init(_ resource: Resource, base: URL) throws(ReactorError) {
    guard let parts = URLComponents(url: base, resolvingAgainstBaseURL: true),
      let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
      let host = parts.encodedHost, !host.isEmpty
    else {
      throw .invalidResource("the base URL needs http or https and a host, as in https://api.example.com/v1")
    }
    self.scheme = scheme
    self.host = host.lowercased().trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    authority = parts.port.map { "\(host):\($0)" } ?? host
    let pieces = resource.path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = try Self.join(parts.percentEncodedPath, String(pieces.first ?? ""))
    var queries = [parts.percentEncodedQuery].compactMap(\.self)
    if pieces.count == 2 { queries.append(PercentEncoding.writtenQuery(pieces[1])) }
    queries += resource.query.map { item in
      let name = PercentEncoding.queryItem(item.name)
      return item.value.map { "\(name)=\(PercentEncoding.queryItem($0))" } ?? name
    }
    let query = queries.filter { !$0.isEmpty }.joined(separator: "&")
    target = query.isEmpty ? path : "\(path)?\(query)"
  }

  /// Whether the host is this machine, for which reachability says nothing.
  var isLoopback: Bool {
    host == "localhost" || host.hasSuffix(".localhost") || host == "::1"
      || (host.hasPrefix("127.") && host.split(separator: ".").count == 4)
  }

  private static func join(_ base: String, _ path: String) throws(ReactorError) -> String {
    if let scheme = path.firstMatch(of: #/^[A-Za-z][A-Za-z0-9+.\-]*:\//#) {
      throw .invalidResource(
        "the path is an absolute URL (\(scheme.output)…); give a path relative to the base URL, or another base URL")
    }
    if path.hasPrefix("//") {
      throw .invalidResource("the path begins with //, which names another host; give a path relative to the base URL")
    }
    let root = base.hasSuffix("/") ? String(base.dropLast()) : base
    guard !path.isEmpty else { return base.isEmpty ? "/" : base }
    let relative = path.hasPrefix("/") ? String(path.dropFirst()) : path
    return "\(root)/\(try removingDotSegments(PercentEncoding.path(relative)))"
  }

  /// RFC 3986 §5.2.4, for a path that may not climb above where it begins. `%2e` is a dot too: servers treat it as one.
  private static func removingDotSegments(_ path: String) throws(ReactorError) -> String {
    var kept: [Substring] = []
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment.replacing("%2e", with: ".").replacing("%2E", with: ".") {
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
}
