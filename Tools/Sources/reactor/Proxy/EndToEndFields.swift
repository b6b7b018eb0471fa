import HTTPTypes
import NIOHTTP1

/// Converts header fields between SwiftNIO and HTTPTypes, without connection fields.
enum EndToEndFields {
  /// The maximum number of fields, more than any message needs. `HTTPFields` ends the process at
  /// 65,535.
  static let limit = 4_096

  /// Returns the fields without connection fields (RFC 9110 §7.6.1), in order and with duplicates.
  /// Returns `nil` if there are more than ``limit``.
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

  /// Returns the fields of a client's request, without its host and without claims that only a
  /// proxy may make.
  ///
  /// Servers build URLs from such claims, or act by them, and they are not part of the cache key.
  /// The response to all clients would otherwise contain the claims of the first one.
  static func ofRequest(_ headers: HTTPHeaders, _ method: HTTPRequest.Method) -> HTTPFields? {
    let isRead = method.readsOnly
    return of(headers) { $0 == "host" || isClaim($0) || isRead && methodOverrides.contains($0) }
  }

  /// Returns a Boolean value that indicates whether a field claims something about the client's
  /// connection or another target.
  ///
  /// A name with an underscore is one, since many servers read it as the same name with a hyphen.
  private static func isClaim(_ name: String) -> Bool {
    name.utf8.contains(UInt8(ascii: "_")) || name.contains("forward") && name != "max-forwards"
      || claims.contains(name) || claimPrefixes.contains { name.hasPrefix($0) }
      || claimSuffixes.contains { name.hasSuffix($0) }
  }

  private static let claims: Set<String> = [
    "front-end-https", "proxy", "x-arr-ssl", "x-host", "x-port", "x-proto", "x-scheme", "x-url-scheme",
  ]
  private static let claimPrefixes = ["x-original-", "x-real-", "x-remote-", "x-rewrite-"]
  private static let claimSuffixes = ["-client-ip", "-connecting-ip", "-host-override"]

  /// The fields that give a request another method. A read keeps its method, since it may be
  /// answered from the cache, and its response stored.
  private static let methodOverrides: Set<String> = ["x-http-method", "x-http-method-override", "x-method-override"]

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
  /// Sets `Content-Length` to the body's length, or removes it (RFC 9112 §6).
  ///
  /// - Parameter isChunked: A Boolean value that indicates whether an empty body without an
  ///   announced length is sent in chunks.
  mutating func frame(bodyLength: Int, isChunked: Bool) {
    if self["content-length"] == ["\(bodyLength)"] { return }
    remove(name: "content-length")
    if isChunked || bodyLength > 0 { add(name: "Transfer-Encoding", value: "chunked") }
  }
}
