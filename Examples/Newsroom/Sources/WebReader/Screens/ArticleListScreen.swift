import NewsClient
import ReactorCore

/// The front page and those behind it, up to date while somebody looks.
struct ArticleListScreen: Screen {
  static let name = "list"
  let page: Int

  var resource: Resource { .articles(page: page) }

  func reactor(in model: NewsModel) -> Reactor<ArticlePage> { model.pages }

  func states(in model: NewsModel) -> LoadStates<ArticlePage> {
    model.pages.states(for: resource, polling: .seconds(10))
  }
}
