public import Foundation

/// A reader's words below an article.
public struct Comment: Codable, Hashable, Sendable, Identifiable {
  /// Given by the API. Before that, a negative number that stands for it.
  public var id: Int
  public var article: Article.ID
  public var author: User
  public var text: String
  public var written: Date
  /// The name that the author's client gave it. It is the same before and after the API has it.
  public var reference: String?

  public init(id: Int, article: Article.ID, author: User, text: String, written: Date, reference: String?) {
    self.id = id
    self.article = article
    self.author = author
    self.text = text
    self.written = written
    self.reference = reference
  }
}
