public import Foundation
public import ReactorWrites

/// The part of an article that a list shows.
///
/// It is an entity: its newest value shows in the front page, in the results of a search, in the
/// reading list, on the page of its author and in the whole article, wherever it came in.
public struct ArticleSummary: Codable, Hashable, Sendable, Entity {
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
  /// The time of the latest correction.
  public var corrected: Date?
}

/// A whole article: its summary, which it shares with the lists, and its text.
public struct Article: Hashable, Sendable, Identifiable {
  public var summary: ArticleSummary
  public var paragraphs: [String]
  /// The editor's note on the latest correction.
  public var note: String?

  public var id: ArticleSummary.ID { summary.id }
}

/// The API has one object for summary and text.
extension Article: Codable {
  private enum Key: CodingKey { case paragraphs, note }

  public init(from decoder: any Decoder) throws {
    summary = try ArticleSummary(from: decoder)
    let container = try decoder.container(keyedBy: Key.self)
    paragraphs = try container.decode([String].self, forKey: .paragraphs)
    note = try container.decodeIfPresent(String.self, forKey: .note)
  }

  public func encode(to encoder: any Encoder) throws {
    try summary.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(paragraphs, forKey: .paragraphs)
    try container.encodeIfPresent(note, forKey: .note)
  }
}

extension Article: EntityContainer {
  public mutating func updateMembers(_ body: (ArticleSummary) -> ArticleSummary?) { summary = body(summary) ?? summary }
}

/// One page of the results of a search.
public struct ArticlePage: Codable, Hashable, Sendable, EntityContainer {
  /// The searched text.
  public var query: String
  public var articles: [ArticleSummary]
  /// From 1.
  public var page: Int
  public var pages: Int
  /// Articles on all pages.
  public var total: Int

  public mutating func updateMembers(_ body: (ArticleSummary) -> ArticleSummary?) { articles.updateMembers(body) }
}
