public import HTTPTypes

/// The rules by which a cache stores and uses responses: for one user, or for several (RFC 9111
/// §1).
///
/// ```swift
/// let cache = ProxyCache(persistence: persistence, rules: .shared())
/// ```
public enum CacheRules: Sendable, Hashable {
  /// The rules of a private cache: all its requests come from one user or one service.
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

extension CacheRules {
  /// Returns the directives of a response that concern a cache of these rules (RFC 9111 §5.2.2,
  /// RFC 9213).
  func control(of fields: HTTPFields) -> CacheControl {
    guard case .shared(let targets) = self else { return CacheControl(fields) }
    // Empty counts as missing, and so does a field that is not a dictionary (RFC 9213 §2.2).
    let targeted = targets.lazy.compactMap { StructuredField.dictionary(fields, $0) }.first { !$0.isEmpty }
    var control = targeted.map(CacheControl.init) ?? CacheControl(fields)
    control.isTargeted = targeted != nil
    control.maxAge = control.sharedMaxAge ?? control.maxAge
    control.isStorable = control.isPublic
    control.isForOthers = control.isPrivate
    return control
  }
}

extension CacheControl {
  /// Reads the directives of a targeted field. A value of another type than its directive's is
  /// ignored (RFC 9213 §2.1).
  fileprivate init(_ targeted: [String: StructuredField.Item]) {
    func has(_ name: String) -> Bool { targeted[name]?.value == .boolean(true) }
    func seconds(_ name: String) -> Duration? {
      guard case .integer(let value)? = targeted[name]?.value, value >= 0 else { return nil }
      return .seconds(min(value, DeltaSeconds.greatest))
    }
    self.init()
    maxAge = seconds("max-age")
    sharedMaxAge = seconds("s-maxage")
    staleWhileRevalidate = seconds("stale-while-revalidate")
    staleIfError = seconds("stale-if-error")
    isMustRevalidate = has("must-revalidate")
    isMustUnderstand = has("must-understand")
    isNoCache = has("no-cache")
    isNoStore = has("no-store")
    isImmutable = has("immutable")
    isPublic = has("public")
    isPrivate = has("private")
    isSharedMustRevalidate = has("proxy-revalidate") || sharedMaxAge != nil
  }
}
