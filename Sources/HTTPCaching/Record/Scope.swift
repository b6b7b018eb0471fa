/// The owner of records: one scope per signed-in user.
///
/// ```swift
/// let layer = ModelLayer(baseURL: api, scope: Scope(user.id))
/// ```
///
/// A record of one scope never answers a request of another. The name is part of every
/// ``RecordKey`` and is written to disk in the clear, so use an identifier and no secret.
public struct Scope: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name, of any length and with any characters.
  public let name: String

  /// Creates the scope with a name. Scopes are equal if the bytes of their names are.
  public init(_ name: String) { self.name = name }
  public init(stringLiteral value: String) { self.init(value) }

  /// The scope of a program without users.
  public static let shared = Scope("shared")

  /// Compares bytes: two Unicode spellings of one text are two scopes.
  public static func == (a: Scope, b: Scope) -> Bool { a.name.hasSameBytes(as: b.name) }

  /// The name.
  public var description: String { name }
}
