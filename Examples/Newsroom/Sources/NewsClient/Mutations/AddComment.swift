public import Foundation
public import ReactorCore
public import ReactorOutbox

/// Adds a comment to an article: shown at once, in the order of writing.
public struct AddComment: Mutation {
  public typealias Answer = Comment

  /// A placeholder for the comment's id, until the API has assigned one.
  public var id = TemporaryID()
  public var article: Article.ID
  public var author: User
  public var text: String
  public var written: Date
  /// The comment's own name, by which a list that has it already is recognized.
  public var reference = UUID().uuidString

  public init(article: Article.ID, author: User, text: String, written: Date) {
    self.article = article
    self.author = author
    self.text = text
    self.written = written
  }

  public var lane: Lane { .comments(of: article) }

  public func request(_ known: Known) throws -> Resource { try .addComment(text, reference, to: article) }

  public func draft(_ drafts: inout Drafts) {
    let comment = Comment(
      id: id.int, article: article, author: author, text: text, written: written, reference: reference)
    drafts.replace([Comment].self, at: .comments(article)) { list in
      let list = list ?? []
      return list.contains { $0.reference == comment.reference || $0.id == comment.id } ? list : list + [comment]
    }
  }

  public func settle(_ comment: Comment, _ settlement: inout Settlement) { settlement.identify(id, as: comment.id) }
}
