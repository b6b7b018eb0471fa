import HTTPTypes

extension Record.Head {
  /// Whether its body is a whole model: a success, and no part of one (RFC 9110 §15.3.7).
  package var isModel: Bool { status.kind == .successful && status != .partialContent }

  /// Whether a model layer stores it: a success that does not forbid it (RFC 9111 §3), or a local value.
  var isStorable: Bool { localModel != nil || (isModel && !CacheControl(fields).forbidsStoring(status)) }

  /// Whether a private cache may store the answer to a request for all of a resource (RFC 9111 §3).
  ///
  /// - Parameter request: the fields of the request.
  func isStorable(for request: RequestCacheControl) -> Bool {
    let control = CacheControl(fields)
    let isFinal = (200...599).contains(status.code) && status != .partialContent && status != .notModified
    let isExplicit = control.maxAge != nil || control.isStorable || fields.contains(.expires)
    return isFinal && !request.isNoStore && !control.forbidsStoring(status) && variant?.isMatchable ?? true
      && (isExplicit || Heuristic.statuses.contains(status.code))
  }
}

extension CacheControl {
  /// Whether a response with this status may be stored by nobody: §5.2.2.5, and §5.2.2.3, which overrules it where the status
  /// is understood.
  func forbidsStoring(_ status: HTTPResponse.Status) -> Bool {
    isMustUnderstand ? !Self.understood.contains(status.code) : isNoStore
  }

  /// The final statuses of RFC 9110 §15.
  private static let understood = Set(
    Array(200...205) + [300, 301, 302, 303, 307, 308] + Array(400...417) + [421, 422, 426] + Array(500...505))
}
