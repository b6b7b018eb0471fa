/// One event that happened: with its payload, or with the error that came instead.
///
/// Action creators are extensions of it:
///
/// ```swift
/// extension Action where Payload == User {
///   static func loaded(_ user: User) -> Action { Action(.userLoaded, user) }
/// }
/// dispatcher.dispatch(.loaded(user))
/// ```
public struct Action<Payload: Sendable>: Sendable {
  public let event: Event<Payload>
  public let result: Result<Payload, any Error>

  @inlinable public init(_ event: Event<Payload>, _ payload: Payload) {
    self.event = event
    result = .success(payload)
  }

  @inlinable public init(_ event: Event<Payload>, error: any Error) {
    self.event = event
    result = .failure(error)
  }

  /// `nil` where the action carries an error.
  @inlinable public var payload: Payload? {
    guard case .success(let payload) = result else { return nil }
    return payload
  }

  /// `nil` where the action carries a payload.
  @inlinable public var error: (any Error)? {
    guard case .failure(let error) = result else { return nil }
    return error
  }
}
