import Foundation
import NIOHTTP1

/// The target of a client's request, as the proxy sends it on (RFC 9112 §3.2).
struct RequestTarget: Equatable {
  /// The host that the client names; `nil` where it names none, as clients of HTTP/1.0 may.
  let authority: String?
  /// The path and the query, or the asterisk of OPTIONS.
  let path: String

  /// Returns `nil` for a target that is no path of this server, or that has a dot segment.
  ///
  /// A dot segment may lead out of the path of the server behind the proxy, and gives one resource a second name.
  init?(_ head: HTTPRequestHead) {
    guard head.method != .CONNECT else { return nil }
    let host = head.headers.first(name: "host")
    if head.uri == "*" && head.method == .OPTIONS {
      (authority, path) = (host, "*")
      return
    }
    if head.uri.hasPrefix("/") {
      (authority, path) = (host, head.uri)
    } else {
      // A whole URL, whose host goes before the field (§3.2.2).
      guard let scheme = head.uri.range(of: "://") else { return nil }
      let rest = head.uri[scheme.upperBound...]
      let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
      authority = String(rest[..<end])
      path = rest[end...].hasPrefix("/") ? String(rest[end...]) : "/" + rest[end...]
    }
    if Self.hasDotSegment(path) { return nil }
  }

  /// A Boolean value that indicates whether a server may find `.` or `..` among the path's segments. Some servers decode dots
  /// and slashes first, and some take a backslash for a slash.
  private static func hasDotSegment(_ path: String) -> Bool {
    let path = path.prefix { $0 != "?" && $0 != "#" }.lowercased()
      .replacing("%2e", with: ".").replacing("%2f", with: "/").replacing("%5c", with: "/").replacing("\\", with: "/")
    return path.split(separator: "/").contains { segment in
      // Parameters of a segment are dropped by some servers before they look.
      let name = segment.prefix { $0 != ";" }
      return name == "." || name == ".."
    }
  }
}
