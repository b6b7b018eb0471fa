package import HTTPTypes

/// The directives of a response that concern a cache of the given rules (RFC 9111 §5.2.2, RFC 5861
/// §3 and §4, RFC 8246, RFC 9213).
///
/// Of several equal directives in `Cache-Control`, the first counts (RFC 9111 §4.2.1). An invalid
/// number counts as zero, which makes the response stale.
struct CacheControl: Sendable, Hashable {
  /// `max-age` (§5.2.2.1); `s-maxage` in its place where it concerns the cache (§5.2.2.10).
  var maxAge: Duration?
  /// `must-revalidate` (§5.2.2.2).
  var isMustRevalidate = false
  /// `must-understand` (§5.2.2.3).
  var isMustUnderstand = false
  /// `no-cache` (§5.2.2.4). The form that names some fields counts as the form for all, which
  /// §5.2.2.4 allows.
  var isNoCache = false
  /// `no-store` (§5.2.2.5).
  var isNoStore = false
  /// `immutable` (RFC 8246).
  var isImmutable = false
  /// `stale-while-revalidate` (RFC 5861 §3).
  var staleWhileRevalidate: Duration?
  /// `stale-if-error` (RFC 5861 §4).
  var staleIfError: Duration?
  /// A Boolean value that indicates whether `public` or `private` permits storing the response
  /// (§5.2.2.7, §5.2.2.9).
  var isStorable = false
  /// A Boolean value that indicates whether `proxy-revalidate` or `s-maxage` forbids a shared cache
  /// to use the response stale (§5.2.2.8, §5.2.2.10).
  var isSharedMustRevalidate = false
  /// A Boolean value that indicates whether `public` is present (§5.2.2.9).
  private var isPublic = false
  /// A Boolean value that indicates whether `private` is present (§5.2.2.7).
  private var isPrivate = false
  /// `s-maxage` (§5.2.2.10).
  private var sharedMaxAge: Duration?
  /// A Boolean value that indicates whether the directives are those of a targeted field, so that
  /// `Expires` does not count (RFC 9213 §2.2).
  private(set) var isTargeted = false
  /// A Boolean value that indicates whether `private` forbids this cache to store the response.
  private(set) var isForOthers = false
  /// A Boolean value that indicates whether a response to a request with `Authorization` may be
  /// stored (§3.5).
  private(set) var allowsAuthorization = true
  /// A Boolean value that indicates whether a response with `Set-Cookie` may be stored, without
  /// that field.
  private(set) var allowsCookies = true

  init(_ fields: HTTPFields, by rules: CacheRules = .private) {
    guard case .shared(let targets) = rules else {
      read(fields)
      isStorable = isPublic || isPrivate
      return
    }
    // Empty counts as missing, and so does what is no dictionary (RFC 9213 §2.2).
    let targeted = targets.lazy.compactMap { StructuredDictionary(fields, $0) }.first { !$0.members.isEmpty }
    if let targeted { read(targeted) } else { read(fields) }
    isTargeted = targeted != nil
    maxAge = sharedMaxAge ?? maxAge
    isStorable = isPublic
    isForOthers = isPrivate
    allowsAuthorization = isPublic || sharedMaxAge != nil || isMustRevalidate
    allowsCookies = isPublic || sharedMaxAge != nil || isTargeted
  }

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

  /// Reads the directives of a targeted field. A value of another type than its directive's is
  /// ignored (RFC 9213 §2.1).
  private mutating func read(_ targeted: StructuredDictionary) {
    func has(_ name: String) -> Bool { targeted.members[name] == .boolean(true) }
    func seconds(_ name: String) -> Duration? {
      guard case .integer(let value)? = targeted.members[name], value >= 0 else { return nil }
      return .seconds(min(value, DeltaSeconds.greatest))
    }
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

  private static func seconds(_ directive: FieldElement) -> Duration {
    .seconds(directive.argument.flatMap(DeltaSeconds.parse) ?? 0)
  }
}

/// The directives of a request for caches (RFC 9111 §5.2.1, RFC 5861 §4), or of its `Pragma`
/// (§5.4). An invalid number counts as zero.
package struct RequestCacheControl: Sendable, Hashable {
  /// `max-age` (§5.2.1.1), in seconds.
  var maxAge: Double?
  /// `max-stale` (§5.2.1.2), in seconds; infinity where the directive has no number.
  var maxStale: Double?
  /// `min-fresh` (§5.2.1.3), in seconds.
  var minFresh: Double?
  /// `no-cache` (§5.2.1.4).
  var isNoCache = false
  /// `no-store` (§5.2.1.5).
  package var isNoStore = false
  /// `only-if-cached` (§5.2.1.7).
  var isOnlyIfCached = false
  /// `stale-if-error` (RFC 5861 §4), in seconds.
  var staleIfError: Double?

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
enum DeltaSeconds {
  /// The upper limit. A greater number counts as this one.
  static let greatest: Int64 = 1 << 31

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
