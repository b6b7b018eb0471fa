package import HTTPTypes

/// The input of a request that may decide its answer, although no key of a cache has it.
///
/// Such an answer is that of one client: stored, it would be everybody's.
package enum UnkeyedInput {
  /// The statuses that answer the fields, the content or the connection of one request, whichever
  /// fields it has.
  ///
  /// 206, 226 and 304 are made of the copy that the client has. 406 to 408, 411 to 413, 415 to 417,
  /// 421, 425 and 426 are errors of the request itself (RFC 9110 §15.5, RFC 8470 §5.2). A cache
  /// must not store 428, 429, 431 and 511 (RFC 6585 §3 to §6).
  private static let statuses: Set<Int> = [
    206, 226, 304, 406, 407, 408, 411, 412, 413, 415, 416, 417, 421, 425, 426, 428, 429, 431, 511,
  ]

  /// Returns whether a status is no answer to other requests, whatever its request was.
  package static func isAnswered(by status: HTTPResponse.Status) -> Bool { statuses.contains(status.code) }
}
