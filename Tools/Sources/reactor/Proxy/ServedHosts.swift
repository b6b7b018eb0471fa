import NIOCore

/// The host names for which the proxy serves requests.
///
/// A web page can make its own name resolve to this machine (DNS rebinding). Its requests have that
/// name as their host, and could read responses stored for others.
struct ServedHosts: Sendable {
  private let names: Set<String>

  /// Creates a set of host names.
  ///
  /// - Parameter names: Names and addresses without ports, in addition to this machine's.
  init(_ names: [String]) { self.names = Set(names.compactMap { Self.name($0) }) }

  /// Returns a Boolean value that indicates whether a request for `authority` is served. The host
  /// must be this machine, the address of the connection, or one of the names. Any port matches.
  func contains(_ authority: String, at local: SocketAddress?) -> Bool {
    guard let name = Self.name(authority) else { return false }
    return names.contains(name) || Self.isLoopback(name) || name == local?.ipAddress?.lowercased()
  }

  /// Returns the host of `HOST` or `HOST:PORT`, in lower case and without brackets; `nil` for any
  /// other text (RFC 9110 §7.2).
  static func name(_ authority: String) -> String? {
    // By hand, since a regex literal is parsed at each use, which took half of the time of a hit.
    let text = authority.lowercased()
    let (name, rest): (Substring, Substring)
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { return nil }
      (name, rest) = (text[text.index(after: text.startIndex)..<end], text[text.index(after: end)...])
      guard name.allSatisfy({ $0.isASCII && ($0.isHexDigit || ":.%".contains($0)) }) else { return nil }
    } else {
      let end = text.firstIndex(of: ":") ?? text.endIndex
      rest = text[end...]
      // The dot of a complete name.
      let whole = text[..<end]
      name = whole.count > 1 && whole.hasSuffix(".") ? whole.dropLast() : whole
      guard !name.contains(where: { $0.isWhitespace || "[]/?#@\\".contains($0) }) else { return nil }
    }
    let port = rest.dropFirst()
    guard !name.isEmpty, rest.isEmpty || rest.first == ":", port.count <= 5,
      port.allSatisfy({ $0.isASCII && $0.isNumber })
    else { return nil }
    return String(name)
  }

  private static func isLoopback(_ name: String) -> Bool {
    if name == "localhost" || name.hasSuffix(".localhost") || name == "::1" { return true }
    let numbers = name.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return numbers.count == 4 && numbers[0] == 127 && !numbers.contains(nil)
  }
}
