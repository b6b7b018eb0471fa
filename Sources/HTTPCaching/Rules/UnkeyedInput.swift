package import HTTPTypes

/// The input of a request that may decide its answer, although no key of a cache has it.
///
/// Such a response is meant for one client. If it were stored, every client would get it.
package enum UnkeyedInput {
  /// The statuses that answer the fields, the content or the connection of one request, whichever
  /// fields it has.
  ///
  /// 206, 226 and 304 depend on the client's copy. 406 to 408, 411 to 413, 415 to 417, 421, 425 and
  /// 426 are errors of the request itself (RFC 9110 §15.5, RFC 8470 §5.2). A cache must not store
  /// 428, 429, 431 and 511 (RFC 6585 §3 to §6).
  private static let statuses: Set<Int> = [
    206, 226, 304, 406, 407, 408, 411, 412, 413, 415, 416, 417, 421, 425, 426, 428, 429, 431, 511,
  ]

  /// Returns `true` if a response with this status cannot answer other requests.
  package static func isAnswered(by status: HTTPResponse.Status) -> Bool { statuses.contains(status.code) }
}
