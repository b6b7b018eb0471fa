import HTTPTypes

extension Record.Head {
  /// Whether a model layer stores it: a success that does not forbid it (RFC 9111 §3), or a local value.
  var isStorable: Bool {
    localModel != nil || (status.kind == .successful && status != .partialContent && mayBeStored(CacheControl(fields)))
  }

  /// Whether a private cache may store the answer to a request for all of a resource (RFC 9111 §3).
  ///
  /// - Parameter request: the fields of the request.
  func isStorable(for request: RequestCacheControl) -> Bool {
    let control = CacheControl(fields)
    let isFinal = (200...599).contains(status.code) && status != .partialContent && status != .notModified
    let isExplicit = control.maxAge != nil || control.isStorable || fields.contains(.expires)
    return isFinal && !request.isNoStore && mayBeStored(control) && variant?.isMatchable ?? true
      && (isExplicit || Heuristic.statuses.contains(status.code))
  }

  /// §5.2.2.5, and §5.2.2.3: one that is to be understood overrules it where it is.
  private func mayBeStored(_ control: CacheControl) -> Bool {
    control.isMustUnderstand ? Self.understood.contains(status.code) : !control.isNoStore
  }

  /// The final statuses of RFC 9110 §15.
  private static let understood = Set(
    Array(200...205) + [300, 301, 302, 303, 307, 308] + Array(400...417) + [421, 422, 426] + Array(500...505))
}
