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

  /// - Parameter id: the `Change-Id` of the request.
  /// - Returns: the article, which is the newest now.
  @discardableResult
  func publish(_ new: NewStory, by id: String? = nil) throws -> Article {
    let next = next
    let publication = Publication(
      section: new.section?.filled ?? next.section, title: new.title?.filled ?? next.title,
      standfirst: new.standfirst?.filled ?? next.standfirst, date: date)
    try archive.change { $0.published = ($0.published ?? []) + [publication] }
    feed.publish([.lists], by: id)
    guard let article = newspaper.articles.first else { throw HTTPError(.internalServerError) }
    return article
  }

  /// - Parameter changeID: the `Change-Id` of the request.
  /// - Throws: 404 for an article that is not in the paper.
  @discardableResult
  func correct(_ id: Int, _ change: Change, by changeID: String? = nil) throws -> Article {
    let date = date
    return try archive.change { state in
      guard let article = newspaper.article(id, in: state) else { throw HTTPError(.notFound) }
      let correction = Correction(
        title: change.title?.filled ?? article.summary.title,
        standfirst: change.standfirst?.filled ?? article.summary.standfirst,
        note: change.note?.filled ?? article.note, date: date)
      state.corrections = (state.corrections ?? [:]).merging([id: correction]) { $1 }
      return correction.applied(to: article)
    } publish: { article, _ in
      feed.publish([.url("/articles/\(id)", etag: Dials.tag(of: article)), .lists], by: changeID)
    }
  }

  /// Takes an article out of the paper. Clients forget it without a request.
  ///
  /// - Parameter changeID: the `Change-Id` of the request.
  /// - Throws: 404 for an article that is not in the paper.
  func withdraw(_ id: Int, by changeID: String? = nil) throws {
    try archive.change { state in
      guard newspaper.article(id, in: state) != nil else { throw HTTPError(.notFound) }
      state.withdrawn = (state.withdrawn ?? []).union([id])
    } publish: { _, _ in
      feed.publish([.gone("/articles/\(id)"), .gone("/articles/\(id)/comments"), .lists], by: changeID)
    }
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
