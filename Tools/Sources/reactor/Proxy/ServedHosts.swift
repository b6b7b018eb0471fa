import NIOCore

/// The names under which the proxy serves requests.
///
/// A page in a browser can make its own name resolve to this machine. Its requests carry that name as their host, and
/// would read what is stored for others.
struct ServedHosts: Sendable {
  private let names: Set<String>

  /// - Parameter names: names and addresses beside those of this machine, without a port.
  init(_ names: [String]) { self.names = Set(names.compactMap { Self.name($0) }) }

  /// A Boolean value that indicates whether a request for `authority` is served: it names this machine, the address that the
  /// client has connected to, or one of the names. The port does not count.
  func contains(_ authority: String, at local: SocketAddress?) -> Bool {
    guard let name = Self.name(authority) else { return false }
    return names.contains(name) || Self.isLoopback(name) || name == local?.ipAddress?.lowercased()
  }

  /// The host of `HOST` or `HOST:PORT`, in lower case and without brackets; `nil` where it is neither (RFC 9110 §7.2).
  static func name(_ authority: String) -> String? {
    let text = authority.lowercased()
    let match = text.wholeMatch(of: /(?:\[([0-9a-f:.%]+)\]|([^\s:\[\]\/?#@\\]+?)\.?)(?::[0-9]{0,5})?/)
    return match.flatMap { $0.output.1 ?? $0.output.2 }.map(String.init)
  }

  private static func isLoopback(_ name: String) -> Bool {
    if name == "localhost" || name.hasSuffix(".localhost") || name == "::1" { return true }
    let numbers = name.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return numbers.count == 4 && numbers[0] == 127 && !numbers.contains(nil)
  }
}
