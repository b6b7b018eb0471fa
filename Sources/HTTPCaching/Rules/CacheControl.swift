package import HTTPTypes

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
  /// A Boolean value that indicates whether there is one that says that the response may be stored:
  /// `public` or `private` (§5.2.2.7, §5.2.2.9).
  var isStorable = false
  /// A Boolean value that indicates whether a shared cache may not use it stale:
  /// `proxy-revalidate`, `s-maxage` (§5.2.2.8, §5.2.2.10). Nothing else of them counts for a
  /// private cache.
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

/// The directives of a request for caches (RFC 9111 §5.2.1; §5.4 for `Pragma`). A number that is
/// none is zero.
package struct RequestCacheControl: Sendable, Hashable {
  /// §5.2.1.1, in seconds.
  var maxAge: Double?
  /// §5.2.1.2, in seconds; infinity where no number is given.
  var maxStale: Double?
  /// §5.2.1.3, in seconds.
  var minFresh: Double?
  /// §5.2.1.4
  var isNoCache = false
  /// §5.2.1.5
  package var isNoStore = false
  /// §5.2.1.7
  var isOnlyIfCached = false

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
    }
    guard !fields.contains(.cacheControl), let pragma = HTTPField.Name("Pragma") else { return }
    fields.forEachElement(of: pragma) { if $0.isNamed("no-cache") { isNoCache = true } }
  }

  private static func seconds(_ directive: FieldElement) -> Double {
    Double(directive.argument.flatMap(DeltaSeconds.parse) ?? 0)
  }
}

/// A count of seconds in a field (RFC 9111 §1.2.2).
enum DeltaSeconds {
  /// The limit that a greater number counts as.
  static let greatest: Int64 = 1 << 31

  /// The number; what overflows is ``greatest``, and what is no number is `nil`.
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
