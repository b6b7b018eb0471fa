import ArgumentParser
import Foundation

/// The URL to fetch.
enum URLArgument {
  /// Parses an absolute `http` or `https` URL.
  ///
  /// - Returns: The URL without its fragment, which is never sent.
  static func parse(_ text: String) throws -> URL {
    guard var parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
      scheme == "http" || scheme == "https", let host = parts.host, !host.isEmpty
    else { throw ValidationError("give an http or https URL with a host, such as https://api.example.com/articles") }
    guard parts.user == nil, parts.password == nil else {
      throw ValidationError("credentials in the URL are not sent; use --header 'Authorization: …'")
    }
    guard (0...65_535).contains(parts.port ?? 0) else { throw ValidationError("the port must be at most 65535") }
    parts.fragment = nil
    guard let url = parts.url else {
      throw ValidationError("the URL is not valid (RFC 3986); percent-encode special characters")
    }
    return url
  }
}
