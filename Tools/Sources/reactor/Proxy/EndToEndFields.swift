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

  /// The fields of a client's request, without its host, and without what it claims of a proxy before this one.
  ///
  /// Servers make URLs of such claims. They are no part of a stored answer's key, so that the first client's claim would be in
  /// the answer for all.
  static func ofRequest(_ headers: HTTPHeaders) -> HTTPFields? {
    of(headers)?.filter { field in
      let name = field.name.canonicalName
      return name != "host" && !name.hasPrefix("x-forwarded") && !claims.contains(name)
    }
  }

  private static let claims: Set<String> = [
    "forwarded", "x-host", "x-original-host", "x-original-url", "x-rewrite-url",
  ]

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
