/// The name of something that happened, and the type of its payload.
///
/// ```swift
/// extension Event where Payload == User {
///   static var userLoaded: Event { Event("userLoaded") }
/// }
/// ```
///
/// Within a dispatcher, a name belongs to one type of payload. Registering a store that uses
/// another type fails.
public struct Event<Payload: Sendable>: Hashable, Sendable {
  /// The name. An event with an empty name can be neither registered nor dispatched.
  public let name: String

  /// Creates an event. Its payload's type is inferred from the context.
  @inlinable public init(_ name: String) { self.name = name }
}
