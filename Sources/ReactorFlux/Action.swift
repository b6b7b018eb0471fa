/// An event that happened, with its payload or an error.
///
/// Extend it with action creators:
///
/// ```swift
/// extension Action where Payload == User {
///   static func loaded(_ user: User) -> Action { Action(.userLoaded, user) }
/// }
/// dispatcher.dispatch(.loaded(user))
/// ```
public struct Action<Payload: Sendable>: Sendable {
  /// The event, which decides the handlers.
  public let event: Event<Payload>
  /// The payload, or the error in its place.
  public let result: Result<Payload, any Error>

  /// Creates an action with a payload.
  @inlinable public init(_ event: Event<Payload>, _ payload: Payload) {
    self.event = event
    result = .success(payload)
  }

  /// Creates an action with an error in place of the payload.
  @inlinable public init(_ event: Event<Payload>, error: any Error) {
    self.event = event
    result = .failure(error)
  }

  /// The payload; `nil` if the action carries an error.
  @inlinable public var payload: Payload? {
    guard case .success(let payload) = result else { return nil }
    return payload
  }

  /// The error; `nil` if the action carries a payload.
  @inlinable public var error: (any Error)? {
    guard case .failure(let error) = result else { return nil }
    return error
  }
}
