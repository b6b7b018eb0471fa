/// A part of a server's resources, as its clients name them.
///
/// ```swift
/// feed.publish([.url("/posts/7", etag: "\"v9\""), .group("front-page")])
/// ```
public enum ChangeTarget: Sendable, Hashable {
  /// The resource of a URL, which is relative to the stream's: `/posts/7`.
  ///
  /// `etag` is the strong `ETag` that its response has now, with its quotes. A client that has this
  /// version does not ask, and one that gets an older version from a replica asks again.
  case url(String, etag: String? = nil)
  /// The resource of a URL, with its whole new body, which is text. A client whose version has the
  /// `ETag` `from` shows it without a request; for any other client, this is a ``url(_:etag:)``.
  ///
  /// Use it only if no `ETag` of the resource is ever used for two versions, and for an audience
  /// that may read the resource.
  case value(String, body: String, from: String, etag: String)
  /// The resource of a URL, with the difference to its earlier version: a merge patch in JSON (RFC
  /// 7396). Otherwise as ``value(_:body:from:etag:)``.
  case merge(String, patch: String, from: String, etag: String)
  /// The resource of a URL that was removed: its responses are a 404 or a 410 from now on. A client
  /// forgets its copy without a request.
  case gone(String)
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
