package import HTTPTypes

extension HTTPResponse {
  /// The size of the body to come over the wire (RFC 9110 §8.6); `nil` where none is announced, or it is that of something else.
  package func announcedLength(of method: HTTPRequest.Method) -> Int? {
    guard method != .head, status != .noContent, status != .notModified, !isCoded,
      headerFields[.transferEncoding] == nil
    else { return nil }
    return headerFields[.contentLength].flatMap { Int($0) }
  }

  /// Whether the body is not what went over the wire.
  package var isCoded: Bool { contentCodings.contains { $0 != "identity" } }

  /// In the order in which they were applied, in lower case (RFC 9110 §8.4).
  package var contentCodings: [String] {
    (headerFields[.contentEncoding] ?? "").lowercased().filter { $0 != " " && $0 != "\t" }.split(separator: ",").map(
      String.init)
  }
}
