/// An author of articles.
public struct Author: Codable, Hashable, Sendable, Identifiable {
  public var id: Int
  public var name: String
  public var role: String
  public var biography: String
  public var articles: [ArticleSummary]
}
