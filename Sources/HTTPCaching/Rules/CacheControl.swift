import HTTPTypes

/// The directives of a response's `Cache-Control` that a private cache heeds (RFC 9111 §5.2.2, RFC 5861 §3 and §4, RFC
/// 8246). The first of several counts (RFC 9111 §4.2.1); a number that is none is zero, so that the response is stale.
struct CacheControl: Sendable, Hashable {
  /// §5.2.2.1
  var maxAge: Duration?
  /// §5.2.2.2
  var isMustRevalidate = false
  /// §5.2.2.3
  var isMustUnderstand = false
  /// §5.2.2.4; one for some fields counts as one for all, which is allowed there.
  var isNoCache = false
  /// §5.2.2.5
  var isNoStore = false
  /// RFC 8246
  var isImmutable = false
  /// RFC 5861 §3
  var staleWhileRevalidate: Duration?
  /// RFC 5861 §4
  var staleIfError: Duration?
  /// Whether there is one that says that the response may be stored: `public` or `private` (§5.2.2.7, §5.2.2.9).
  var isStorable = false
  /// Whether a shared cache may not use it stale: `proxy-revalidate`, `s-maxage` (§5.2.2.8, §5.2.2.10). Nothing else of them counts
  /// for a private cache.
  var isSharedMustRevalidate = false

  init(_ fields: HTTPFields) {
    fields.forEachElement(of: .cacheControl) { directive in
      // Told apart by the first letter: there are few that any response has.
      switch directive.bytes[0].asciiLowercased {
      case UInt8(ascii: "m"): readM(directive)
      case UInt8(ascii: "n"):
        if directive.isNamed("no-cache") { isNoCache = true }
        if directive.isNamed("no-store") { isNoStore = true }
      case UInt8(ascii: "s"): readS(directive)
      case UInt8(ascii: "p"):
        if directive.isNamed("public") || directive.isNamed("private") { isStorable = true }
        if directive.isNamed("proxy-revalidate") { isSharedMustRevalidate = true }
      case UInt8(ascii: "i"):
        if directive.isNamed("immutable") { isImmutable = true }
      default: break
      }
    }
  }

  private mutating func readM(_ directive: FieldElement) {
    if directive.isNamed("max-age") { maxAge = maxAge ?? Self.seconds(directive) }
    if directive.isNamed("must-revalidate") { isMustRevalidate = true }
    if directive.isNamed("must-understand") { isMustUnderstand = true }
  }

  private mutating func readS(_ directive: FieldElement) {
    if directive.isNamed("stale-while-revalidate") {
      staleWhileRevalidate = staleWhileRevalidate ?? Self.seconds(directive)
    }
    if directive.isNamed("s-maxage") { isSharedMustRevalidate = true }
    if directive.isNamed("stale-if-error") { staleIfError = staleIfError ?? Self.seconds(directive) }
  }

  private static func seconds(_ directive: FieldElement) -> Duration {
    .seconds(directive.argument.flatMap(DeltaSeconds.parse) ?? 0)
  }
}
