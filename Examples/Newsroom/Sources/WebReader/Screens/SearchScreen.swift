import NewsClient
import ReactorCore

struct SearchScreen: Screen {
  static let name = "search"
  let text: String
  let page: Int

  var resource: Resource { .search(text, page: page) }

  func reactor(in model: NewsModel) -> Reactor<ArticlePage> { model.pages }
}
