/// A part of a server's resources, as its clients name them.
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

/// A group of clients. A change is delivered to one audience, and a stream is opened for several.
public struct ChangeAudience: Sendable, Hashable {
  /// The name, which no client sees.
  public let name: String
  /// An audience without a name, such as that of an absent tenant, is not everyone.
  private var isEveryone = false

  /// Creates an audience: `user:7`, `tenant:acme`.
  public init(_ name: String) { self.name = name }

  /// Every client.
  public static let everyone: ChangeAudience = {
    var audience = ChangeAudience("")
    audience.isEveryone = true
    return audience
  }()
}
