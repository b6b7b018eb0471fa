import ArgumentParser
import Foundation

/// The server behind the proxy: an `http` or `https` URL. Its path is prepended to the path of each
/// request.
struct UpstreamArgument: Hashable, Sendable {
  let isSecure: Bool
  /// The host without the brackets of an IPv6 address.
  let host: String
  let port: Int
  /// The host as in the URL, with the port if the URL has one.
  let authority: String
  /// The path of the URL, with a leading slash and no trailing one. Empty for the root.
  let basePath: String

  var scheme: String { isSecure ? "https" : "http" }

  static func parse(_ text: String) throws -> UpstreamArgument {
    let url = try URLArgument.parse(text)
    guard url.query() == nil else { throw ValidationError("remove the query from the upstream URL") }
    guard let host = url.host(percentEncoded: true), !host.isEmpty else {
      throw ValidationError("the upstream URL has no host, as in https://api.example.com")
    }
    let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    let bracketed = bare.contains(":") ? "[\(bare)]" : bare
    let isSecure = url.scheme?.lowercased() == "https"
    var path = url.path(percentEncoded: true)
    while path.hasSuffix("/") { path.removeLast() }
    return UpstreamArgument(
      isSecure: isSecure, host: bare, port: url.port ?? (isSecure ? 443 : 80),
      authority: url.port.map { "\(bracketed):\($0)" } ?? bracketed, basePath: path)
  }
}
