public import HTTPTypes

/// The rules by which a cache stores and uses responses: those for one user, or those for several
/// (RFC 9111 §1).
public enum CacheRules: Sendable, Hashable {
  /// The rules of a private cache: all its requests are those of one user, or of one service.
  case `private`
  /// The rules of a shared cache, which answers several users with one stored response.
  ///
  /// It stores no `private` response (§5.2.2.7), a response to a request with `Authorization` only
  /// where the server permits that (§3.5), and never `Set-Cookie`. A response with `Set-Cookie` is
  /// stored only if it is `public`, has `s-maxage`, or has one of the targeted fields. `s-maxage`
  /// is the lifetime where it is present (§5.2.2.10).
  ///
  /// - Parameter targets: The names of the targeted fields that concern this cache, such as
  ///   `CDN-Cache-Control`, most specific first (RFC 9213 §2.2). The first of them that is valid
  ///   and not empty replaces the response's `Cache-Control` and `Expires`. Default: none.
  case shared(targets: [HTTPField.Name] = [])

  /// A Boolean value that indicates whether these are the rules of a shared cache.
  public var isShared: Bool { self != .private }
}
