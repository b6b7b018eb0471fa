public import ReactorCore
public import ReactorOutbox

/// Puts an article on the reading list.
public struct SaveArticle: Mutation {
  public var article: ArticleSummary

  public init(article: ArticleSummary) { self.article = article }

  public var lane: Lane { .readingList }

  public func request(_ known: Known) -> Resource { .keep(article.id) }

  public func draft(_ drafts: inout Drafts) {
    drafts.replace([ArticleSummary].self, at: .readingList) { [article] list in
      let list = list ?? []
      return list.contains { $0.id == article.id } ? list : list + [article]
    }
  }
}

/// Takes an article off the reading list.
public struct UnsaveArticle: Mutation {
  public var article: Article.ID

  public init(article: Article.ID) { self.article = article }

  public var lane: Lane { .readingList }

  public func request(_ known: Known) -> Resource { .drop(article) }

  public func draft(_ drafts: inout Drafts) {
    drafts.change([ArticleSummary].self, at: .readingList) { [article] in $0.removeAll { $0.id == article } }
  }
}
