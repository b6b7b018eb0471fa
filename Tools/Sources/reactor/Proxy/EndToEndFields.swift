import HTTPTypes
import NIOHTTP1

/// Converts header fields between SwiftNIO and HTTPTypes, without those of the connection.
enum EndToEndFields {
  /// The maximum number of fields, more than any message needs. `HTTPFields` ends the process at
  /// 65,535.
  static let limit = 4_096

  /// Returns the fields without those of the connection (RFC 9110 §7.6.1), in order and with
  /// duplicates. Returns `nil` if there are more than ``limit``.
  static func of(_ headers: HTTPHeaders) -> HTTPFields? { of(headers) { _ in false } }

  private static func of(_ headers: HTTPHeaders, without isDropped: (String) -> Bool) -> HTTPFields? {
    guard headers.count <= limit else { return nil }
    let named = headers[canonicalForm: "connection"].map { $0.lowercased() }
    var fields = HTTPFields()
    for (name, value) in headers {
      guard let name = HTTPField.Name(name) else { continue }
      let text = name.canonicalName
      guard !connection.contains(text), !named.contains(text), !isDropped(text) else { continue }
      fields.append(HTTPField(name: name, value: value))
    }
    return fields
  }

  /// Returns the fields of a client's request, without its host and without claims about other
  /// proxies.
  ///
  /// Servers build URLs from such claims, which are not part of the cache key. The response to all
  /// clients would otherwise contain the claims of the first one.
  static func ofRequest(_ headers: HTTPHeaders) -> HTTPFields? {
    of(headers) { $0 == "host" || $0.hasPrefix("x-forwarded") || claims.contains($0) }
  }

  private static let claims: Set<String> = [
    "forwarded", "x-host", "x-original-host", "x-original-url", "x-rewrite-url",
  ]

  static func headers(_ fields: HTTPFields) -> HTTPHeaders {
    var headers = HTTPHeaders()
    for field in fields { headers.add(name: field.name.rawName, value: field.value) }
    return headers
  }

  /// The fields of a connection. Trailers are not forwarded, so `Trailer` must not announce them
  /// (§6.5.1).
  private static let connection: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]
}

extension HTTPHeaders {
  /// Makes `Content-Length` that of the body, or removes it (RFC 9112 §6).
  ///
  /// - Parameter isChunked: A Boolean value that indicates whether an empty body without an
  ///   announced length is sent in chunks.
  mutating func frame(bodyLength: Int, isChunked: Bool) {
    if self["content-length"] == ["\(bodyLength)"] { return }
    remove(name: "content-length")
    if isChunked || bodyLength > 0 { add(name: "Transfer-Encoding", value: "chunked") }
  }
}
