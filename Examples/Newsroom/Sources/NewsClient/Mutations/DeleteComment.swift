public import ReactorCore
public import ReactorOutbox

/// Deletes a comment of the user's, including a comment that the API does not have yet: the
/// deletion is sent once the comment has its id.
public struct DeleteComment: Mutation {
  public var article: Article.ID
  public var comment: Comment.ID
  /// The comment's own name, which it has under either id.
  public var reference: String?

  public init(article: Article.ID, comment: Comment.ID, reference: String?) {
    self.article = article
    self.comment = comment
    self.reference = reference
  }

  public var lane: Lane { .comments(of: article) }

  public func request(_ known: Known) -> Resource { .deleteComment(comment, of: article) }

  public func draft(_ drafts: inout Drafts) {
    drafts.change([Comment].self, at: .comments(article)) { [comment, reference] list in
      list.removeAll { $0.id == comment || (reference != nil && $0.reference == reference) }
    }
  }
}
