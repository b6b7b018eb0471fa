public import ReactorWrites

/// An author of articles.
public struct Author: Codable, Hashable, Sendable, Identifiable, EntityContainer {
  public var id: Int
  public var name: String
  public var role: String
  public var biography: String
  public var articles: [ArticleSummary]

  public mutating func updateMembers(_ body: (ArticleSummary) -> ArticleSummary?) { articles.updateMembers(body) }
}
