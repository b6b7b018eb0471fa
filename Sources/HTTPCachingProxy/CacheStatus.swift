public import HTTPTypes

/// A description of how a cache handled a request, as a member of the field `Cache-Status`
/// (RFC 9211).
///
/// ``CacheResponse/cacheStatus`` has the description of each response. ``append(to:name:)`` adds it
/// to the fields of a response.
public struct CacheStatus: Sendable, Hashable {
  /// The reason for sending a request to the server (RFC 9211 §2.2).
  public enum ForwardReason: String, Sendable, Hashable {
    /// The cache was not consulted.
    case bypass
    /// Only the server can answer this method.
    case method
    /// Nothing is stored for the URL.
    case uriMiss = "uri-miss"
    /// Responses are stored for the URL, but none for the request's fields that they vary on.
    case varyMiss = "vary-miss"
    /// A response is stored that cannot be used, for a reason without a name in this list.
    case miss
    /// A fresh response is stored, and the request's own fields do not permit its use.
    case request
    /// The stored response is stale.
    case stale
  }

  /// The rest of the freshness of a stored response in seconds, negative for a stale one; `nil`
  /// where the request was sent, or the response is not from the cache (RFC 9211 §2.1, §2.4).
  public var timeToLive: Int?
  /// The reason for sending the request to the server; `nil` where it was not sent.
  public var forwardReason: ForwardReason?
  /// The status code of the server's response to this request; `nil` where the request was not sent
  /// or not answered (RFC 9211 §2.3).
  public var forwardStatus: Int?
  /// A Boolean value that indicates whether the cache stored the response.
  public var isStored = false
  /// A Boolean value that indicates whether the request waited for another request's response
  /// instead of being sent (RFC 9211 §2.6).
  public var isCollapsed = false
  /// More about the handling, in the cache's own words; `nil` for nothing (RFC 9211 §2.8).
  public var detail: String?

  /// Creates the description of a request that was sent to the server for a reason.
  public init(forwardReason: ForwardReason) { self.forwardReason = forwardReason }

  /// Creates the description of a response from the cache.
  ///
  /// - Parameter timeToLive: The rest of its freshness in seconds, negative for a stale one.
  public init(timeToLive: Int) { self.timeToLive = timeToLive }

  /// Creates the description of an answer that is neither from the cache nor from the server.
  ///
  /// - Parameter detail: The cause, in the cache's own words.
  public init(detail: String) { self.detail = detail }

  /// Adds the description to `Cache-Status`, after the descriptions of caches nearer to the server
  /// (RFC 9211 §2).
  ///
  /// ```swift
  /// var answer = await cache.receive(response, body: body, for: exchange, at: Date())
  /// answer.cacheStatus.append(to: &answer.response.headerFields, name: "edge-1")
  /// ```
  ///
  /// - Parameters:
  ///   - fields: The fields of the response to the client.
  ///   - name: The name of the cache. Other than a token, it is written as a string; characters
  ///     beyond ASCII are left out.
  public func append(to fields: inout HTTPFields, name: String) {
    guard let field = HTTPField.Name("Cache-Status") else { return }
    fields.append(HTTPField(name: field, value: member(name)))
  }

  private func member(_ name: String) -> String {
    var text = Self.item(name)
    if let timeToLive {
      text += "; hit; ttl=\(timeToLive)"
    } else if let forwardReason {
      text += "; fwd=\(forwardReason.rawValue)"
    }
    if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
    if isStored { text += "; stored" }
    if isCollapsed { text += "; collapsed" }
    if let detail { text += "; detail=\(Self.item(detail))" }
    return text
  }

  /// Returns `text` as a token, or else as a string (RFC 9651 §3.3.3, §3.3.4).
  private static func item(_ text: String) -> String {
    let bytes = text.utf8.filter { (0x20...0x7e).contains($0) }
    let isLetter = { (byte: UInt8) in (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte.asciiLowercased) }
    let isDigit = { (byte: UInt8) in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    if bytes.count == text.utf8.count, bytes.first.map({ isLetter($0) || $0 == UInt8(ascii: "*") }) == true,
      bytes.allSatisfy({ isLetter($0) || isDigit($0) || "!#$%&'*+-.^_`|~:/".utf8.contains($0) })
    {
      return text
    }
    let escaped = bytes.flatMap { "\"\\".utf8.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
    return "\"\(String(decoding: escaped, as: UTF8.self))\""
  }
}
