import HTTPTypes
import Hummingbird

struct ArticleRoutes: Sendable {
  let newspaper: Newspaper
  let dials: Dials

  func add(to group: RouterGroup<NewsContext>) {
    group.get("articles") { request, _ in
      try page(of: newspaper.articles, request)
    }
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
    group.get("search") { request, _ in
      try page(of: newspaper.search(request.uri.queryParameters["q"].map(String.init) ?? ""), request)
    }
  }

  private func page(of articles: [Article], _ request: Request) throws -> Response {
    let page = ArticlePage(articles.map(\.summary), number: request.uri.queryParameters.get("page", as: Int.self) ?? 1)
    var response = try dials.answer(page, to: request, freshFor: 5)
    if let name = HTTPField.Name("Link") { response.headers[name] = link(from: page, request) }
    return response
  }

  /// RFC 8288: where the next page is, and the one before.
  private func link(from page: ArticlePage, _ request: Request) -> String? {
    let query = request.uri.queryParameters.filter { $0.key != "page" }.map { "\($0.key)=\($0.value)&" }.joined()
    let links = [(page.page - 1, "prev"), (page.page + 1, "next")].filter { (1...page.pages).contains($0.0) }
      .map { "<\(request.uri.path)?\(query)page=\($0.0)>; rel=\"\($0.1)\"" }
    return links.isEmpty ? nil : links.joined(separator: ", ")
  }
}
