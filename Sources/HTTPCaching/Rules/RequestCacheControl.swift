package import HTTPTypes

/// What a request asks of caches (RFC 9111 §5.2.1; §5.4 for `Pragma`). A number that is none is zero.
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
