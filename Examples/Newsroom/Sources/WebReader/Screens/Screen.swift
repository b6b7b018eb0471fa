import NewsClient
import ReactorCore

/// A screen of a page in the browser: one resource of one reactor.
protocol Screen: Sendable {
  associatedtype Content: Codable & Sendable
  /// The page's name for the screen.
  static var name: String { get }
  var resource: Resource { get }
  /// The article whose comments are below; `nil`: none.
  var article: Article.ID? { get }
  func reactor(in model: NewsModel) -> Reactor<Content>
  func states(in model: NewsModel) -> LoadStates<Content>
}

extension Screen {
  var article: Article.ID? { nil }

  func states(in model: NewsModel) -> LoadStates<Content> { reactor(in: model).states(for: resource) }

  func refresh(in model: NewsModel) async throws { _ = try await reactor(in: model).fetchFromNetwork(resource) }
}
