public import Foundation
public import HTTPTypes

/// The response that ``ProxyCache`` returns to a client.
public struct CacheResponse: Sendable {
  /// The source of a response.
  public enum Source: Sendable, Hashable {
    /// The stored response. The server was not asked.
    case stored
    /// The stored response, which the server confirmed with a 304.
    case validated
    /// The stored response as a stale fallback: the server failed or could not be reached
    /// (RFC 5861 §4).
    case stale
    /// The server's response.
    case network
    /// A 504 from the cache. Nothing usable is stored, and the request is `only-if-cached`
    /// (RFC 9111 §5.2.1.7).
    case none
  }

  /// The status and fields. ``ProxyCache`` adds `Age` to a stored response.
  public var response: HTTPResponse
  /// The body of ``response``: part of the stored body for a 206, empty for a 304.
  public var body: Data
  /// The source of ``response``.
  public var source: Source
  /// A Boolean value that indicates whether ``ProxyCache/receive(_:body:for:at:)`` stored the
  /// response.
  public var isStored = false
  /// The request to send in place of this answer; `nil` as a rule.
  ///
  /// ```swift
  /// var answer = await cache.receive(response, body: body, for: exchange, at: Date())
  /// if let retry = answer.retry {
  ///   let (second, content) = try await send(retry.request)
  ///   answer = await cache.receive(second, body: content, for: retry, at: Date())
  /// }
  /// ```
  ///
  /// The server has answered to the validators of the stored response, and not to the client: its
  /// 304 confirms another representation (RFC 9111 §4.3.4), or it refuses them with a 400 or 412.
  /// Send this request without delay, and pass its response to
  /// ``ProxyCache/receive(_:body:for:at:)``. There is no third request. Until then, ``response`` is
  /// the stale one or the error, of which nothing is stored.
  public var retry: CacheRequest? {
    get { again.first }
    set { again = newValue.map { [$0] } ?? [] }
  }
  /// ``retry``, out of line: nearly no response has one.
  var again: [CacheRequest] = []
  /// The error of the persistence; `nil` if it succeeded. The response is complete even then.
  public var failure: (any Error)?
  /// The handling of the request, as `Cache-Status` describes it. The cache does not add that field
  /// to ``response``: ``CacheStatus/append(to:name:)`` does.
  public var cacheStatus = CacheStatus(forwardReason: .bypass)
}
