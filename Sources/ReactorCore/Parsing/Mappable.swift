/// A model that is made from a ``JSONValue`` by hand.
///
/// ```swift
/// struct Article: Mappable {
///   let title: String
///   static func mapToModel(_ json: JSONValue) throws -> Article { Article(title: try json.string("title")) }
///   func mapToJSON() -> JSONValue { ["title": .string(title)] }
/// }
/// ```
public protocol Mappable: Sendable {
  /// Any error makes the model malformed; a ``ParserError``, as ``JSONValue``'s members throw, also says where.
  static func mapToModel(_ json: JSONValue) throws -> Self

  /// What ``mapToModel(_:)`` makes this model from; `.null`, the default: it cannot be persisted.
  func mapToJSON() -> JSONValue
}

extension Mappable {
  public func mapToJSON() -> JSONValue { .null }
}

extension JSONValue: Mappable {
  public static func mapToModel(_ json: JSONValue) -> JSONValue { json }
  public func mapToJSON() -> JSONValue { self }
}
