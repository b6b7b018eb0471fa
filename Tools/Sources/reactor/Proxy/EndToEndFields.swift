import HTTPTypes
import NIOHTTP1

/// The fields of a message, between those of SwiftNIO and ours.
enum EndToEndFields {
  /// More than any message has use for. `HTTPFields` ends the process at 65,535.
  static let limit = 4_096

  /// Without what belongs to the connection (RFC 9110 §7.6.1), in order and with duplicates; `nil` where there are more than
  /// ``limit``.
  static func of(_ headers: HTTPHeaders) -> HTTPFields? {
    guard headers.count <= limit else { return nil }
    let named = headers[canonicalForm: "connection"].map { $0.lowercased() }
    let dropped = connection.union(named)
    var fields = HTTPFields()
    for (name, value) in headers where !dropped.contains(name.lowercased()) {
      if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
    }
    return fields
  }

  static func headers(_ fields: HTTPFields) -> HTTPHeaders {
    var headers = HTTPHeaders()
    for field in fields { headers.add(name: field.name.rawName, value: field.value) }
    return headers
  }

  /// Trailers are not forwarded, so that nothing announces them (§6.5.1).
  private static let connection: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]
}

extension HTTPHeaders {
  /// Makes the announced length that of the body, or announces none (RFC 9112 §6).
  ///
  /// - Parameter isChunked: whether a body whose length is not announced is sent in chunks though it is empty.
  mutating func frame(bodyLength: Int, isChunked: Bool) {
    if self["content-length"] == ["\(bodyLength)"] { return }
    remove(name: "content-length")
    if isChunked || bodyLength > 0 { add(name: "Transfer-Encoding", value: "chunked") }
  }
}
