import HTTPTypes

extension UnkeyedInput {
  /// The fields that may turn the answer to a request into an error: conditions and ranges
  /// (RFC 9110 §13.1, §14.2), `Expect` (§10.1.1), `Early-Data` (RFC 8470 §5.1) and `A-IM`
  /// (RFC 3229 §10.5.3).
  private static let fields: [HTTPField.Name] =
    [.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .range, .expect]
    + ["Early-Data", "A-IM"].compactMap { HTTPField.Name($0) }

  /// Returns whether a request has one of the fields.
  static func isPresent(in request: HTTPFields) -> Bool { fields.contains { request.contains($0) } }
}
