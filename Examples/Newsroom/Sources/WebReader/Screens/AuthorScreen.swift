import NewsClient
import ReactorCore

struct AuthorScreen: ResourceScreen {
  typealias Content = Author

  static let name = "author"
  let id: Author.ID

  var resource: Resource { .author(id) }

  func reactor(in model: NewsModel) -> Reactor<Author> { model.authors }
}
