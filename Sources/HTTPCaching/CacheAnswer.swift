public import Foundation
public import HTTPTypes

/// What ``HTTPCache`` gives a client.
public struct CacheAnswer: Sendable {
  /// Where it is from.
  public enum Source: Sendable, Hashable {
    /// What is stored, without a word to the server.
    case stored
    /// What is stored, which the server has confirmed (304).
    case validated
    /// What is stored, though it is stale, since the server did not give a better answer (RFC 5861 §4).
    case standIn
    /// The server's response.
    case network
    /// Nothing is stored, and the client wants nothing else: 504 (RFC 9111 §5.2.1.7).
    case none
  }

  public var response: HTTPResponse
  public var body: Data
  public var source: Source
  /// Whether the response is stored now.
  public var isStored = false
  /// What the persistence threw. The answer is whole all the same.
  public var failure: (any Error)?
}
