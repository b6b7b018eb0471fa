import Foundation
public import HTTPTypes

/// A request that is to be sent for a client, and what is done with its answer: see ``HTTPCache/begin(_:scope:at:)``.
public struct CacheExchange: Sendable {
  /// What is to be sent: the client's request, with the stored validators where there are some.
  public let request: HTTPRequest
  /// What the persistence threw when it was asked; the request is sent as if nothing were stored.
  public let failure: (any Error)?
  let client: HTTPRequest
  let key: RecordKey
  let stored: Record?
  let sentAt: Date
  /// Whether ``request`` carries the stored validators, in place of the client's own conditions.
  let sendsValidators: Bool
}
