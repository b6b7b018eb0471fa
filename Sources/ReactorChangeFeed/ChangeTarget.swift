/// What has changed on a server, in the words of its clients.
///
/// ```swift
/// feed.publish([.url("/posts/7"), .group("front-page")])
/// ```
public enum ChangeTarget: Sendable, Hashable {
  /// The resource of a URL, which is relative to the stream's: `/posts/7`.
  case url(String)
  /// The resource of a URL and everything below it.
  case under(String)
  /// The members of a group that responses name in `Cache-Groups` (RFC 9875).
  case group(String)
  /// Everything.
  case all
}

/// Who gets a change. A client has the audiences with which its stream was opened.
public struct ChangeAudience: Sendable, Hashable {
  /// The name, which no client sees.
  public let name: String

  /// Creates an audience: `user:7`, `tenant:acme`.
  public init(_ name: String) { self.name = name }

  /// Every client.
  public static let everyone = ChangeAudience("")
}
