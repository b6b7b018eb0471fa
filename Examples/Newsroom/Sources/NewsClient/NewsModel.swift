import Foundation
public import ReactorCore
public import ReactorLists
import ReactorLive
public import ReactorOutbox
import ReactorWrites

/// The API's models, as one user sees them: one model layer, which follows the API's changes while
/// something of it is observed.
public struct NewsModel: Sendable {
  public let layer: ModelLayer
  /// Pages of the front page; see ``frontPage(from:)``.
  public let headlines: Reactor<[ArticleSummary]>
  public let searches: Reactor<ArticlePage>
  public let articles: Reactor<Article>
  public let authors: Reactor<Author>
  public let comments: Reactor<[Comment]>
  public let readingList: Reactor<[ArticleSummary]>
  public let dials: Reactor<Dials>
  let credentials: Reactor<Credential>

  /// - Parameter outbox: the store of the user's writes; in memory for a guest, who writes nothing.
  init(
    backend: Backend, persistence: any Persistence, outbox: any OutboxStorage = MemoryOutboxStorage(), scope: Scope,
    power: any ReactorConfiguration.PowerSaving
  ) {
    var configuration = ReactorConfiguration()
    configuration.retry = RetryPolicy(attempts: 2, firstDelay: .milliseconds(200))
    configuration.lowPower.source = power
    // Every ten seconds becomes every three hours: as good as a pause.
    configuration.lowPower.pollingFactor = 1_000
    // Dates as the API writes them.
    let (decoder, encoder) = (JSONDecoder(), JSONEncoder())
    decoder.dateDecodingStrategy = .iso8601
    encoder.dateEncodingStrategy = .iso8601
    configuration.decoder = decoder
    configuration.encoder = encoder
    layer = ModelLayer(
      backend: backend, persistence: persistence, scope: scope, configuration: configuration,
      extensions: [.outbox(NewsOutbox.configuration(storage: outbox)), .live(.events)])
    headlines = layer.reactor()
    searches = layer.reactor()
    articles = layer.reactor()
    authors = layer.reactor()
    comments = layer.reactor()
    readingList = layer.reactor()
    dials = layer.reactor()
    credentials = layer.reactor()
  }

  /// Returns the front page, which comes in pages: older ones follow the links of the API. Five are
  /// held. A page that has made room for others comes back from memory or disk.
  ///
  /// - Parameter first: the page to begin with. Newer ones precede it.
  public func frontPage(from first: Resource = .articles) -> Pages<[ArticleSummary]> {
    headlines.pages(from: first, limit: 5, polling: .seconds(10))
  }

  /// Turns a dial. The new position is shown at once, so that no window shows the old one while the
  /// request is in flight.
  public func change(_ change: Dials.Change) async throws(ReactorError) {
    _ = try await dials.mutate(.dials, by: .change(change), answer: Dials.self) { dials in
      dials.outage = change.outage ?? dials.outage
      dials.latency = change.latency ?? dials.latency
    }
  }
}

/// The user's writes. Each returns when it is shown and saved, and is sent as soon as possible.
extension NewsModel {
  /// Puts an article on the reading list, or takes it off. If the opposite has not been sent yet,
  /// it is taken back instead.
  public func setKept(_ isKept: Bool, _ article: ArticleSummary) async throws(ReactorError) {
    let latest = layer.outbox.entries.last { $0.keeping?.article == article.id }
    if let latest, latest.keeping?.isKept != isKept, await layer.outbox.withdraw(latest.id) { return }
    if isKept {
      try await layer.submit(SaveArticle(article: article))
    } else {
      try await layer.submit(UnsaveArticle(article: article.id))
    }
  }

  /// Adds a comment to an article.
  @discardableResult
  public func comment(
    _ text: String, on article: Article.ID, by author: User
  ) async throws(ReactorError) -> Submission<Comment> {
    try await layer.submit(AddComment(article: article, author: author, text: text, written: Date()))
  }

  /// Deletes a comment of the user's. If it has not been sent yet, it is taken back instead.
  ///
  /// - Parameter reference: the comment's own name, if it has one.
  public func deleteComment(
    _ comment: Comment.ID, reference: String?, of article: Article.ID
  ) async throws(ReactorError) {
    let unsent = layer.outbox.entries.last { ($0.mutation as? AddComment)?.id.int == comment }
    if let unsent, await layer.outbox.withdraw(unsent.id) { return }
    try await layer.submit(DeleteComment(article: article, comment: comment, reference: reference))
  }
}

extension Outbox.Entry {
  /// The article whose place on the reading list it changes.
  fileprivate var keeping: (article: Article.ID, isKept: Bool)? {
    switch mutation {
    case let saving as SaveArticle: (saving.article.id, true)
    case let unsaving as UnsaveArticle: (unsaving.article, false)
    default: nil
    }
  }
}
