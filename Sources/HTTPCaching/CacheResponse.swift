public import Foundation
public import HTTPTypes

/// The answer that ``HTTPCache`` gives a client.
public struct CacheResponse: Sendable {
  /// The source of an answer.
  public enum Source: Sendable, Hashable {
    /// The stored response; the server was not asked.
    case stored
    /// The stored response, which the server has confirmed (304).
    case validated
    /// The stored response, though it is stale, since the server did not give a better answer (RFC
    /// 5861 §4).
    case stale
    /// The server's response.
    case network
    /// Nothing is stored, and the client wants nothing else: 504 (RFC 9111 §5.2.1.7).
    case none
  }

  public var response: HTTPResponse
  public var body: Data
  public var source: Source
  /// A Boolean value that indicates whether the response is stored now.
  public var isStored = false
  /// The error that the persistence threw. The answer is whole all the same.
  public var failure: (any Error)?
}
