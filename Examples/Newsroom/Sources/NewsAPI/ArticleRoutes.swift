import HTTPTypes
import Hummingbird

struct ArticleRoutes: Sendable {
  let newspaper: Newspaper
  let dials: Dials

  func add(to group: RouterGroup<NewsContext>) {
    group.get("articles") { request, _ in try front(request) }
    group.get("articles/{id}") { request, context in
      guard let article = try newspaper.article(context.parameters.require("id", as: Int.self)) else {
        throw HTTPError(.notFound)
      }
      return try dials.answer(article, to: request, freshFor: 30)
    }
    group.get("authors/{id}") { request, context in
      guard let author = try newspaper.author(context.parameters.require("id", as: Int.self)) else {
        throw HTTPError(.notFound)
      }
      return try dials.answer(author, to: request, freshFor: 30)
    }
    group.get("search") { request, _ in try found(request) }
  }

  /// A page of the front page, with links to the pages beside it.
  private func front(_ request: Request) throws -> Response {
    let cursor = request.uri.queryParameters.get("before", as: Int.self).map(FrontPage.Cursor.before) ?? .newest
    guard let page = FrontPage(newspaper.articles.map(\.summary), at: cursor) else { throw HTTPError(.notFound) }
    let links = [(page.previous, "prev"), (page.next, "next")].compactMap { cursor, relation in
      cursor.map { (address(of: $0), relation) }
    }
    return try answer(page.articles, to: request, links)
  }

  private func address(of cursor: FrontPage.Cursor) -> String {
    switch cursor {
    case .newest: "/articles"
    case .before(let id): "/articles?before=\(id)"
    }
  }

  /// A page of what a search finds, with links to the pages beside it.
  private func found(_ request: Request) throws -> Response {
    let text = request.uri.queryParameters["q"].map(String.init) ?? ""
    let number = request.uri.queryParameters.get("page", as: Int.self) ?? 1
    let page = ArticlePage(newspaper.search(text).map(\.summary), of: text, number: number)
    let query = request.uri.queryParameters.filter { $0.key != "page" }.map { "\($0.key)=\($0.value)&" }.joined()
    let links = [(page.page - 1, "prev"), (page.page + 1, "next")].filter { (1...page.pages).contains($0.0) }
      .map { ("/search?\(query)page=\($0.0)", $0.1) }
    return try answer(page, to: request, links)
  }

  /// - Parameter links: addresses with their relations (RFC 8288).
  private func answer(_ value: some Encodable, to request: Request, _ links: [(String, String)]) throws -> Response {
    var response = try dials.answer(value, to: request, freshFor: 5)
    if let name = HTTPField.Name("Link"), !links.isEmpty {
      response.headers[name] = links.map { "<\($0)>; rel=\"\($1)\"" }.joined(separator: ", ")
    }
    return response
  }
}
