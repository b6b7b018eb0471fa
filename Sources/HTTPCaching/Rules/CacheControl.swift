package import HTTPTypes

/// The directives of a response that concern a cache (RFC 9111 §5.2.2, RFC 5861 §3 and §4,
/// RFC 8246).
///
/// Of several equal directives in `Cache-Control`, the first counts (RFC 9111 §4.2.1). An invalid
/// number counts as zero, which makes the response stale.
package struct CacheControl: Sendable, Hashable {
  /// `max-age` (§5.2.2.1); `s-maxage` in its place where it concerns the cache (§5.2.2.10).
  package var maxAge: Duration?
  /// `must-revalidate` (§5.2.2.2).
  package var isMustRevalidate = false
  /// `must-understand` (§5.2.2.3).
  package var isMustUnderstand = false
  /// `no-cache` (§5.2.2.4). The form that names some fields counts as the form for all, which
  /// §5.2.2.4 allows.
  package var isNoCache = false
  /// `no-store` (§5.2.2.5).
  package var isNoStore = false
  /// `immutable` (RFC 8246).
  package var isImmutable = false
  /// `stale-while-revalidate` (RFC 5861 §3).
  package var staleWhileRevalidate: Duration?
  /// `stale-if-error` (RFC 5861 §4).
  package var staleIfError: Duration?
  /// A Boolean value that indicates whether `public` or `private` permits storing the response
  /// (§5.2.2.7, §5.2.2.9).
  package var isStorable = false
  /// A Boolean value that indicates whether `proxy-revalidate` or `s-maxage` forbids a shared cache
  /// to use the response stale (§5.2.2.8, §5.2.2.10).
  package var isSharedMustRevalidate = false
  /// A Boolean value that indicates whether `public` is present (§5.2.2.9).
  package var isPublic = false
  /// A Boolean value that indicates whether `private` is present (§5.2.2.7).
  package var isPrivate = false
  /// `s-maxage` (§5.2.2.10).
  package var sharedMaxAge: Duration?
  /// A Boolean value that indicates whether the directives are those of a targeted field, so that
  /// `Expires` does not count (RFC 9213 §2.2).
  package var isTargeted = false
  /// A Boolean value that indicates whether `private` forbids this cache to store the response.
  package var isForOthers = false

  /// Reads the directives for a private cache.
  package init(_ fields: HTTPFields) {
    read(fields)
    isStorable = isPublic || isPrivate
  }

  /// Creates the directives of a field that has none.
  package init() {}

  private mutating func read(_ fields: HTTPFields) {
    fields.forEachElement(of: .cacheControl) { directive in
      // The first letter selects the few names worth comparing.
      switch directive.bytes[0].asciiLowercased {
      case UInt8(ascii: "m"): readM(directive)
      case UInt8(ascii: "n"):
        if directive.isNamed("no-cache") { isNoCache = true }
        if directive.isNamed("no-store") { isNoStore = true }
      case UInt8(ascii: "s"): readS(directive)
      case UInt8(ascii: "p"):
        if directive.isNamed("public") { isPublic = true }
        if directive.isNamed("private") { isPrivate = true }
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
    if directive.isNamed("s-maxage") {
      isSharedMustRevalidate = true
      sharedMaxAge = sharedMaxAge ?? Self.seconds(directive)
    }
    if directive.isNamed("stale-if-error") { staleIfError = staleIfError ?? Self.seconds(directive) }
  }

  private static func seconds(_ directive: FieldElement) -> Duration {
    .seconds(directive.argument.flatMap(DeltaSeconds.parse) ?? 0)
  }
}

/// The directives of a request for caches (RFC 9111 §5.2.1, RFC 5861 §4), or of its `Pragma`
/// (§5.4). An invalid number counts as zero.
package struct RequestCacheControl: Sendable, Hashable {
  /// `max-age` (§5.2.1.1), in seconds.
  package var maxAge: Double?
  /// `max-stale` (§5.2.1.2), in seconds; infinity where the directive has no number.
  package var maxStale: Double?
  /// `min-fresh` (§5.2.1.3), in seconds.
  package var minFresh: Double?
  /// `no-cache` (§5.2.1.4).
  package var isNoCache = false
  /// `no-store` (§5.2.1.5).
  package var isNoStore = false
  /// `only-if-cached` (§5.2.1.7).
  package var isOnlyIfCached = false
  /// `stale-if-error` (RFC 5861 §4), in seconds.
  package var staleIfError: Double?

  /// Reads `Cache-Control`, or `Pragma` where the request has no `Cache-Control`.
  package init(_ fields: HTTPFields) {
    fields.forEachElement(of: .cacheControl) { directive in
      if directive.isNamed("max-age") { maxAge = maxAge ?? Self.seconds(directive) }
      if directive.isNamed("max-stale") {
        maxStale = maxStale ?? (directive.argument == nil ? .infinity : Self.seconds(directive))
      }
      if directive.isNamed("min-fresh") { minFresh = minFresh ?? Self.seconds(directive) }
      if directive.isNamed("no-cache") { isNoCache = true }
      if directive.isNamed("no-store") { isNoStore = true }
      if directive.isNamed("only-if-cached") { isOnlyIfCached = true }
      if directive.isNamed("stale-if-error") { staleIfError = staleIfError ?? Self.seconds(directive) }
    }
    guard !fields.contains(.cacheControl), let pragma = HTTPField.Name("Pragma") else { return }
    fields.forEachElement(of: pragma) { if $0.isNamed("no-cache") { isNoCache = true } }
  }

  private static func seconds(_ directive: FieldElement) -> Double {
    Double(directive.argument.flatMap(DeltaSeconds.parse) ?? 0)
  }
}

/// A number of seconds in a field (RFC 9111 §1.2.2).
package enum DeltaSeconds {
  /// The upper limit. A greater number counts as this one.
  package static let greatest: Int64 = 1 << 31

  /// Returns the number, at most ``greatest``, or `nil` if the bytes are not all digits.
  static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
    guard !bytes.isEmpty else { return nil }
    var value: Int64 = 0
    for byte in bytes {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      value = min(greatest, value * 10 + Int64(byte - UInt8(ascii: "0")))
    }
    return value
  }
}
