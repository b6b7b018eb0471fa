import Foundation
import Hummingbird
import ReactorChangeFeed

/// A story that the desk has published.
struct Publication: Codable, Sendable {
  var section: String
  var title: String
  var standfirst: String
  var date: Date

  var story: Newspaper.Story { Newspaper.Story(section, title, standfirst) }
}

/// A change that an editor has made in an article after its publication.
struct Correction: Codable, Sendable {
  var title: String
  var standfirst: String
  var note: String?
  var date: Date

  func applied(to article: Article) -> Article {
    var article = article
    article.summary.title = title
    article.summary.standfirst = standfirst
    article.summary.corrected = date
    article.note = note
    return article
  }
}

/// The editors' side of the paper: it publishes stories, and corrects them.
struct NewsDesk: Sendable {
  /// A correction as an editor sends it. A member that is `nil` or blank stays unchanged.
  struct Change: Decodable, Sendable {
    var title: String?
    var standfirst: String?
    var note: String?
  }

  /// A story as an editor sends it. A member that is `nil` or blank is taken from the drawer.
  struct NewStory: Decodable, Sendable {
    var section: String?
    var title: String?
    var standfirst: String?
  }

  let newspaper: Newspaper
  let archive: NewsArchive
  let feed: ChangeFeed
  let now: @Sendable () -> Date

  /// The story that lies on top in the drawer.
  var next: Newspaper.Story {
    let drawer = Newspaper.drawer
    return drawer[archive.read { $0.published?.count ?? 0 } % drawer.count]
  }

  /// - Returns: the article, which is the newest now.
  @discardableResult
  func publish(_ new: NewStory) throws -> Article {
    let next = next
    let publication = Publication(
      section: new.section?.filled ?? next.section, title: new.title?.filled ?? next.title,
      standfirst: new.standfirst?.filled ?? next.standfirst, date: date)
    try archive.change { $0.published = ($0.published ?? []) + [publication] }
    feed.publish([.lists])
    guard let article = newspaper.articles.first else { throw HTTPError(.internalServerError) }
    return article
  }

  /// - Throws: 404 for an article that was never printed.
  @discardableResult
  func correct(_ id: Int, _ change: Change) throws -> Article {
    guard let article = newspaper.article(id) else { throw HTTPError(.notFound) }
    let correction = Correction(
      title: change.title?.filled ?? article.summary.title,
      standfirst: change.standfirst?.filled ?? article.summary.standfirst,
      note: change.note?.filled ?? article.note, date: date)
    try archive.change { $0.corrections = ($0.corrections ?? [:]).merging([id: correction]) { $1 } }
    feed.publish([.url("/articles/\(id)"), .lists])
    return correction.applied(to: article)
  }

  /// Whole seconds, as in the JSON of the API.
  private var date: Date { Date(timeIntervalSince1970: now().timeIntervalSince1970.rounded(.down)) }
}

extension String {
  /// The text without space around it; `nil` if nothing is left.
  fileprivate var filled: String? {
    let text = trimmingCharacters(in: .whitespacesAndNewlines)
    return text.isEmpty ? nil : text
  }
}
