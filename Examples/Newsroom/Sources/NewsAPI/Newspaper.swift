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
  /// The time of the latest correction.
  var corrected: Date?
}

struct Article: Encodable, Sendable {
  var summary: ArticleSummary
  var paragraphs: [String]
  /// The editor's note on the latest correction.
  var note: String?

  func encode(to encoder: any Encoder) throws {
    try summary.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(paragraphs, forKey: .paragraphs)
    try container.encodeIfPresent(note, forKey: .note)
  }

  private enum Key: CodingKey { case paragraphs, note }
}

struct Author: Encodable, Sendable {
  var id: Int
  var name: String
  var role: String
  var biography: String
  var articles: [ArticleSummary]
}

/// The articles, newest first: the initial ones, each about an hour older than the one before, and
/// the articles that the desk has published since. All have their corrections.
struct Newspaper: Sendable {
  private let archive: NewsArchive
  private let first: [Article]

  /// - Parameter now: the date of the first issue. A later start of the program finds it in the
  ///   archive, so that articles keep their dates and validators.
  init(archive: NewsArchive, now: Date) throws {
    let founded = try archive.change { state in
      let founded = state.founded ?? now
      state.founded = founded
      return founded
    }
    self.archive = archive
    first = (Self.stories + Self.olderStories).enumerated().map { index, story in
      Self.article(story, id: index + 1, published: founded.addingTimeInterval(-Double(index * 67 + 12) * 60))
    }
  }

  var articles: [Article] { archive.read { articles(in: $0) } }

  /// The articles of a state, without those that were withdrawn.
  func articles(in state: NewsState) -> [Article] {
    printed(in: state).filter { state.withdrawn?.contains($0.summary.id) != true }
  }

  /// Everything that was printed, and what of it was withdrawn.
  var printed: (articles: [Article], withdrawn: Set<Int>) {
    archive.read { (printed(in: $0), $0.withdrawn ?? []) }
  }

  private func printed(in state: NewsState) -> [Article] {
    let published = (state.published ?? []).enumerated().map { index, publication in
      Self.article(publication.story, id: first.count + index + 1, published: publication.date)
    }
    return (published.reversed() + first).map { state.corrections?[$0.summary.id]?.applied(to: $0) ?? $0 }
  }

  func article(_ id: Int) -> Article? { archive.read { article(id, in: $0) } }

  func article(_ id: Int, in state: NewsState) -> Article? {
    articles(in: state).first { $0.summary.id == id }
  }

  func author(_ id: Int) -> Author? {
    Self.staff.first { $0.id == id }.map { person in
      var author = person
      author.articles = articles.map(\.summary).filter { $0.author.id == id }
      return author
    }
  }

  /// The articles that contain each word of `text`, in any case. An empty text finds nothing.
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

  private static func article(_ story: Story, id: Int, published: Date) -> Article {
    let (index, author) = (id - 1, staff[(id - 1) % staff.count])
    return Article(
      summary: ArticleSummary(
        id: id, title: story.title, standfirst: story.standfirst, section: story.section,
        published: Date(timeIntervalSince1970: published.timeIntervalSince1970.rounded()),
        minutes: 2 + index % 5, author: .init(id: author.id, name: author.name)),
      paragraphs: paragraphs(of: story, number: index))
  }
}
