import Foundation
import NIOHTTP1

/// The target of a client's request, in the form that the proxy forwards (RFC 9112 §3.2).
struct RequestTarget: Equatable {
  /// The host of the request; `nil` if the request names no host, as HTTP/1.0 allows.
  let authority: String?
  /// The path and the query, or the asterisk of OPTIONS.
  let path: String

  /// Creates the target, or returns `nil` if it is not a path of this server, or has a dot segment
  /// or a fragment.
  ///
  /// No target has a fragment (§3.2). A server that drops it would give one resource two keys.
  /// A dot segment may lead out of the base path of the server behind the proxy. It would also be a
  /// second name for the resource.
  init?(_ head: HTTPRequestHead) {
    guard head.method != .CONNECT, !head.uri.utf8.contains(UInt8(ascii: "#")) else { return nil }
    let host = head.headers.first(name: "host")
    if head.uri == "*" && head.method == .OPTIONS {
      (authority, path) = (host, "*")
      return
    }
    if head.uri.hasPrefix("/") {
      (authority, path) = (host, head.uri)
    } else {
      // An absolute URL, whose host takes precedence over the field (§3.2.2).
      guard let scheme = head.uri.range(of: "://") else { return nil }
      let rest = head.uri[scheme.upperBound...]
      let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
      authority = String(rest[..<end])
      path = rest[end...].hasPrefix("/") ? String(rest[end...]) : "/" + rest[end...]
    }
    if Self.hasDotSegment(path) { return nil }
  }

  /// Returns a Boolean value that indicates whether a server may find a segment `.` or `..`. Some
  /// servers first decode dots and slashes, and some treat a backslash as a slash.
  private static func hasDotSegment(_ path: String) -> Bool {
    // Most paths have neither a dot nor anything encoded.
    guard path.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") }) else { return false }
    let path = path.prefix { $0 != "?" }.lowercased()
      .replacing("%2e", with: ".").replacing("%2f", with: "/").replacing("%5c", with: "/").replacing("\\", with: "/")
    return path.split(separator: "/").contains { segment in
      // Some servers drop the parameters of a segment first.
      let name = segment.prefix { $0 != ";" }
      return name == "." || name == ".."
    }
  }
}
