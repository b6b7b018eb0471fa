/// The name of something that happened, and the type of what it carries.
///
/// ```swift
/// extension Event where Payload == User {
///   static var userLoaded: Event { Event("userLoaded") }
/// }
/// ```
///
/// Within a dispatcher a name belongs to one type of payload: a second is refused when its store is registered.
public struct Event<Payload: Sendable>: Hashable, Sendable {
  /// Not empty where it is registered or dispatched.
  public let name: String

  @inlinable public init(_ name: String) { self.name = name }
}
