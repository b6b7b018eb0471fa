/// Whose data it is: one scope per signed-in user.
///
/// What one scope stored is never served to another. The name is part of every ``RecordKey``; it is written to disk
/// as it is, so use an identifier rather than a secret.
public struct Scope: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name, of any length and any characters.
  public let name: String

  public init(_ name: String) { self.name = name }
  public init(stringLiteral value: String) { self.init(value) }

  /// The scope of a program that has no users.
  public static let shared = Scope("shared")

  /// By bytes: two spellings of one text in Unicode are two scopes.
  public static func == (a: Scope, b: Scope) -> Bool { a.name.hasSameBytes(as: b.name) }

  public var description: String { name }
}
