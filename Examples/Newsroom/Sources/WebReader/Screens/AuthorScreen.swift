import NewsClient
import ReactorCore

struct AuthorScreen: Screen {
  static let name = "author"
  let id: Author.ID

  var resource: Resource { .author(id) }

  func reactor(in model: NewsModel) -> Reactor<Author> { model.authors }
}
