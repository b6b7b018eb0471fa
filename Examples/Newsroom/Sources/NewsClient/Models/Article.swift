public import Foundation

/// The part of an article that a list shows.
public struct ArticleSummary: Codable, Hashable, Sendable, Identifiable {
  public struct Author: Codable, Hashable, Sendable, Identifiable {
    public var id: Int
    public var name: String
  }

  public var id: Int
  public var title: String
  public var standfirst: String
  public var section: String
  public var published: Date
  /// The reading time.
  public var minutes: Int
  public var author: Author
}

/// A whole article.
public struct Article: Codable, Hashable, Sendable, Identifiable {
  public var id: Int
  public var title: String
  public var standfirst: String
  public var section: String
  public var published: Date
  public var minutes: Int
  public var author: ArticleSummary.Author
  public var paragraphs: [String]
}

/// One page of a longer list.
public struct ArticlePage: Codable, Hashable, Sendable {
  public var articles: [ArticleSummary]
  /// From 1.
  public var page: Int
  public var pages: Int
  /// Articles on all pages.
  public var total: Int
}
