import NewsClient
import ReactorCore

/// A screen of a page in the browser.
protocol Screen: Sendable {
  associatedtype Content: Encodable & Sendable
  associatedtype States: AsyncSequence<LoadState<Content>, Never> & Sendable
  /// The page's name for the screen.
  static var name: String { get }
  /// The article whose comments are below; `nil`: none.
  var article: Article.ID? { get }
  func states(in model: NewsModel, _ window: Window) -> States
  func refresh(in model: NewsModel, _ window: Window?) async throws
}

extension Screen {
  var article: Article.ID? { nil }
}

/// A screen of one resource of one reactor.
protocol ResourceScreen: Screen where Content: Codable {
  var resource: Resource { get }
  func reactor(in model: NewsModel) -> Reactor<Content>
}

extension ResourceScreen {
  func states(in model: NewsModel, _ window: Window) -> LoadStates<Content> {
    reactor(in: model).states(for: resource)
  }

  func refresh(in model: NewsModel, _ window: Window?) async throws {
    _ = try await reactor(in: model).fetchFromNetwork(resource)
  }
}
