import Foundation
public import ReactorCore

/// The API's models, as one user sees them: one model layer.
public struct NewsModel: Sendable {
  public let layer: ModelLayer
  public let pages: Reactor<ArticlePage>
  public let articles: Reactor<Article>
  public let authors: Reactor<Author>
  public let readingList: Reactor<[ArticleSummary]>
  public let dials: Reactor<Dials>
  let credentials: Reactor<Credential>

  init(backend: Backend, persistence: any Persistence, scope: Scope, power: any PowerSaving) {
    var configuration = ReactorConfiguration()
    configuration.retry = RetryPolicy(attempts: 2, firstDelay: .milliseconds(200))
    configuration.powerSaving = power
    // Every ten seconds becomes every three hours: as good as a pause.
    configuration.pollingFactorInLowPower = 1_000
    layer = ModelLayer(backend: backend, persistence: persistence, scope: scope, configuration: configuration)
    pages = layer.reactor(parser: .dated())
    articles = layer.reactor(parser: .dated())
    authors = layer.reactor(parser: .dated())
    readingList = layer.reactor(parser: .dated())
    dials = layer.reactor()
    credentials = layer.reactor()
  }

  /// Puts an article on the reading list, or takes it off: shown at once, and taken back where the API refuses.
  public func setKept(_ isKept: Bool, _ article: ArticleSummary) async throws {
    try await change(isKept, article)
    do {
      _ = try await readingList.send(isKept ? .keep(article.id) : .drop(article.id))
    } catch {
      try await change(!isKept, article)
      throw error
    }
  }

  private func change(_ isKept: Bool, _ article: ArticleSummary) async throws(ReactorError) {
    var list = try await readingList.fetch(.readingList, policy: .cacheFirst)
    list.removeAll { $0.id == article.id }
    if isKept { list.append(article) }
    try await readingList.save(list, for: .readingList)
  }

  /// Turns a dial: shown at once, so that no window shows the old position while the API is asked for the new one.
  public func change(_ change: Dials.Change) async throws(ReactorError) {
    var changed = try await dials.fetch(.dials)
    changed.outage = change.outage ?? changed.outage
    changed.latency = change.latency ?? changed.latency
    try await dials.save(changed, for: .dials)
    do {
      _ = try await dials.send(.change(change))
    } catch {
      await dials.invalidate(.dials)
      throw error
    }
  }
}

extension Parser where Model: Codable {
  /// JSON with dates as the API writes them.
  fileprivate static func dated() -> Parser {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    return .json(decoder: decoder, encoder: encoder)
  }
}
