import Foundation
public import HTTPTypes

/// A request that is to be sent for a client, and what is done with its answer: see ``HTTPCache/plan(for:scope:at:)``.
public struct CacheRequest: Sendable {
  /// The request to send: the client's request, with the stored validators where there are some.
  public let request: HTTPRequest
  /// The error that the persistence threw when it was asked; the request is sent as if nothing were
  /// stored.
  public let failure: (any Error)?
  let client: HTTPRequest
  let key: RecordKey
  let stored: Record?
  /// The stored head when the exchange began, used or not.
  let found: Record.Head?
  let sentAt: Date
  /// A Boolean value that indicates whether ``request`` carries the stored validators, in place of
  /// the client's own conditions.
  let sendsValidators: Bool
}

extension CacheRequest {
  /// Returns whether nothing has come between the exchange's beginning and its answer that the
  /// answer must not undo. No clock decides while what was found is still there: it may be from
  /// before the clock was set back, and would count as newer for as long as that.
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
