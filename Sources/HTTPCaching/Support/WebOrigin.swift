package import Foundation

/// The scheme, host and port of an `http` or `https` URL in one spelling (RFC 3986 §6.2,
/// RFC 6454 §4).
///
/// The spelling is lower case, with punycode and without the scheme's default port. So equal
/// origins are equal values.
package struct WebOrigin: Hashable, Sendable {
  /// The scheme: `http` or `https`.
  package let scheme: String
  /// The host, without the brackets of an IPv6 address.
  let host: String
  /// The port; `nil` for the scheme's default port.
  let port: Int?

  /// Creates the origin of a URL.
  ///
  /// - Returns: `nil` if the URL has another scheme, no host, an invalid host or a port outside 1
  ///   through 65,535.
  package init?(_ url: URL) {
    guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https",
      let host = url.host(percentEncoded: false)?.lowercased(), !host.isEmpty, host.utf8.allSatisfy(Self.isPlain),
      url.port.map((1...65_535).contains) ?? true
    else { return nil }
    self.scheme = scheme
    self.host = host
    port = url.port == (scheme == "https" ? 443 : 80) ? nil : url.port
  }

  /// The host and the port as in a URL.
  package var authority: String {
    // The `%` before the zone of a link-local address is encoded (RFC 6874 §2).
    let host = self.host.contains(":") ? "[\(self.host.replacing("%", with: "%25"))]" : self.host
    return port.map { "\(host):\($0)" } ?? host
  }

  /// A Boolean value that indicates whether the host is this machine, which reachability does not
  /// cover.
  package var isLoopback: Bool {
    let name = host.hasSuffix(".") ? String(host.dropLast()) : host
    if name == "localhost" || name.hasSuffix(".localhost") || name == "::1" { return true }
    let numbers = name.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return numbers.count == 4 && numbers.first == 127 && !numbers.contains(nil)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7f && !"/?#@[]\\<>\"^`{|}".utf8.contains(byte)
  }
}
