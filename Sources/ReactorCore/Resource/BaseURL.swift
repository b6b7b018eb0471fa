import Foundation

/// What every resource of a backend has in common, read once.
final class BaseURL: Sendable {
  let origin: WebOrigin
  /// Host, and port where it is not the scheme's own.
  let authority: String
  /// Percent-encoded, without a slash at its end.
  let root: String
  /// Percent-encoded, as it was given.
  let path: String
  /// Percent-encoded.
  let query: String?

  /// - Throws: ``ReactorError/invalidResource(_:)`` where it is not one of `http` or `https` with a host, or holds a user or a
  ///   password.
  init(_ url: URL) throws(ReactorError) {
    guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let origin = WebOrigin(url) else {
      throw .invalidResource("the base URL needs http or https and a host, as in https://api.example.com/v1")
    }
    guard parts.user == nil, parts.password == nil else {
      throw .invalidResource("the base URL holds a user or a password; send them as an Authorization field")
    }
    self.origin = origin
    authority = origin.authority
    path = parts.percentEncodedPath
    root = path.hasSuffix("/") ? String(path.dropLast()) : path
    query = parts.percentEncodedQuery
  }
}
