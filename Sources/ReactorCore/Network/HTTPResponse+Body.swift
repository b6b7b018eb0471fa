package import HTTPTypes

extension HTTPResponse {
  /// The size of the body to come over the wire (RFC 9110 §8.6); `nil` where none is announced, or it is that of something else.
  package func announcedLength(of method: HTTPRequest.Method) -> Int? {
    guard method != .head, status != .noContent, status != .notModified, !isCoded,
      headerFields[.transferEncoding] == nil
    else { return nil }
    return headerFields[.contentLength].flatMap { Int($0) }
  }

  /// Whether the announced length is none, which makes the response unusable (RFC 9112 §6.3). The same number several times is one.
  package var hasInvalidLength: Bool {
    guard headerFields[.transferEncoding] == nil, let field = headerFields[.contentLength] else { return false }
    let lengths = Set(field.filter { $0 != " " }.split(separator: ",", omittingEmptySubsequences: false))
    return lengths.count != 1 || lengths.contains { $0.isEmpty || !$0.utf8.allSatisfy { (48...57).contains($0) } }
  }

  /// Whether the body is not what went over the wire.
  package var isCoded: Bool { contentCodings.contains { $0 != "identity" } }

  /// In the order in which they were applied, in lower case (RFC 9110 §8.4).
  package var contentCodings: [String] {
    (headerFields[.contentEncoding] ?? "").lowercased().filter { $0 != " " && $0 != "\t" }.split(separator: ",").map(
      String.init)
  }
}
