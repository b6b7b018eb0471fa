import NewsClient
import ReactorCore

struct ArticleScreen: ResourceScreen {
  typealias Content = Article

  static let name = "article"
  let id: Article.ID

  var resource: Resource { .article(id) }
  var article: Article.ID? { id }

  func reactor(in model: NewsModel) -> Reactor<Article> { model.articles }
}
