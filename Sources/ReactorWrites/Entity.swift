public import ReactorCore

/// A model that its id identifies across resources.
///
/// Its newest value is shown in every copy of the layer that holds the id: in each list, in each
/// page, and as the model of its own resource. The newest value comes from the request or write
/// that began last, whichever resource it arrived in. It replaces the whole earlier value; nothing
/// is merged. A summary and a detail are two types, and do not change each other.
///
/// ```swift
/// struct Article: Codable, Entity {
///   var id: Int
///   var title: String
/// }
/// ```
///
/// If the type is also `Equatable`, a value that equals the shown one is no change.
public protocol Entity: Identifiable, ModelLayer.PresentedModel where ID: Codable & Sendable {}

/// A model that holds entities: a page of a list, or the answer to a search.
///
/// An array of entities is one. Any other type says how to reach its members:
///
/// ```swift
/// struct Page: Codable, EntityContainer {
///   var articles: [Article]
///   var next: String?
///
///   mutating func updateMembers(_ body: (Article) -> Article?) { articles.updateMembers(body) }
/// }
/// ```
public protocol EntityContainer: ModelLayer.PresentedModel {
  /// The type of the entities.
  associatedtype Member: Entity

  /// Calls `body` once for each member, in order, and puts its result in the member's place.
  ///
  /// A member for which `body` returns `nil` is dropped. The method is pure and quick: it runs
  /// without a lock, on the executor of the first reader, and again for each newer value of a
  /// member.
  mutating func updateMembers(_ body: (Member) -> Member?)
}

extension ModelLayer.PresentedModel {
  public static var _presentation: ModelLayer.Presenting {
    ModelLayer.Presenting { EntityAccess.find(in: Self.self, $0.entities) }
  }
}

extension Array: ModelLayer.PresentedModel, EntityContainer where Element: Entity {
  /// The type of the elements.
  public typealias Member = Element

  /// Calls `body` once for each element, and drops the elements for which it returns `nil`.
  public mutating func updateMembers(_ body: (Element) -> Element?) { self = compactMap(body) }
}
