public import Foundation
public import HTTPTypes

/// A request that is to be sent for a client, and what is done with its answer: see ``HTTPCache/plan(for:scope:at:)``.
public struct CacheExchange: Sendable {
  /// What is to be sent: the client's request, with the stored validators where there are some.
  public let request: HTTPRequest
  /// What the persistence threw when it was asked; the request is sent as if nothing were stored.
  public let failure: (any Error)?
  let client: HTTPRequest
  let key: RecordKey
  let stored: Record?
  /// What was stored when the exchange began, used or not.
  let found: Record.Head?
  let sentAt: Date
  /// Whether ``request`` carries the stored validators, in place of the client's own conditions.
  let sendsValidators: Bool
}

extension CacheExchange {
  /// Whether nothing has come between the exchange's beginning and its answer that the answer must not
  /// undo. No clock decides while what was found is still there: it may be from before the clock was set
  /// back, and would count as newer for as long as that.
  ///
  /// - Parameters:
  ///   - current: what is stored now.
  ///   - receivedAt: when the answer was received.
  func isUndisturbed(by current: Record.Head?, until receivedAt: Date) -> Bool {
    guard let current else { return found == nil }
    // A draft of a model layer on the same store is no answer.
    guard current.localModel == nil else { return true }
    if let found, found.isSameExchange(as: current) { return found.invalidatedAt == current.invalidatedAt }
    return current.invalidatedAt == nil && current.receivedAt <= receivedAt
  }
}

/// What ``HTTPCache`` gives a client.
public struct CacheAnswer: Sendable {
  /// Where it is from.
  public enum Source: Sendable, Hashable {
    /// What is stored, without a word to the server.
    case stored
    /// What is stored, which the server has confirmed (304).
    case validated
    /// What is stored, though it is stale, since the server did not give a better answer (RFC 5861 §4).
    case stale
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
