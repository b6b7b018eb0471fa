import Foundation

struct ArticleSummary: Codable, Sendable {
  struct Author: Codable, Sendable {
    var id: Int
    var name: String
  }

  var id: Int
  var title: String
  var standfirst: String
  var section: String
  var published: Date
  /// The reading time.
  var minutes: Int
  var author: Author
}

struct Article: Encodable, Sendable {
  var summary: ArticleSummary
  var paragraphs: [String]

  func encode(to encoder: any Encoder) throws {
    try summary.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(paragraphs, forKey: .paragraphs)
  }

  private enum Key: CodingKey { case paragraphs }
}

struct Author: Encodable, Sendable {
  var id: Int
  var name: String
  var role: String
  var biography: String
  var articles: [ArticleSummary]
}

struct ArticlePage: Encodable, Sendable {
  static let size = 9

  var articles: [ArticleSummary]
  var page: Int
  var pages: Int
  var total: Int

  /// - Parameter number: beyond the last: the last; below the first: the first.
  init(_ all: [ArticleSummary], number: Int) {
    total = all.count
    pages = max(1, (all.count + Self.size - 1) / Self.size)
    page = min(max(1, number), pages)
    articles = Array(all.dropFirst((page - 1) * Self.size).prefix(Self.size))
  }
}

/// The printed articles, newest first, each about an hour older than the one before.
struct Newspaper: Sendable {
  let articles: [Article]

  init(now: Date = Date()) {
    articles = Self.stories.enumerated().map { index, story in
      let author = Self.staff[index % Self.staff.count]
      let published = now.addingTimeInterval(-Double(index * 67 + 12) * 60)
      let paragraphs = Self.paragraphs(of: story, number: index)
      return Article(
        summary: ArticleSummary(
          id: index + 1, title: story.title, standfirst: story.standfirst, section: story.section,
          published: Date(timeIntervalSince1970: published.timeIntervalSince1970.rounded()),
          minutes: 2 + index % 5, author: .init(id: author.id, name: author.name)),
        paragraphs: paragraphs)
    }
  }

  func article(_ id: Int) -> Article? { articles.first { $0.summary.id == id } }

  func author(_ id: Int) -> Author? {
    Self.staff.first { $0.id == id }.map { person in
      var author = person
      author.articles = articles.map(\.summary).filter { $0.author.id == id }
      return author
    }
  }

  /// Those that hold each word of `text`, in any case. An empty text finds nothing.
  func search(_ text: String) -> [Article] {
    let words = text.split(separator: " ")
    guard !words.isEmpty else { return [] }
    return articles.filter { article in
      let haystack =
        "\(article.summary.title) \(article.summary.standfirst) \(article.summary.section) "
        + "\(article.summary.author.name)"
      return words.allSatisfy { haystack.localizedCaseInsensitiveContains($0) }
    }
  }
}
