import Foundation
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
      return try dials.answer(author, to: request, freshFor: 30, in: Dials.lists)
    }
    group.get("search") { request, _ in
      let text = request.uri.queryParameters["q"].map(String.init) ?? ""
      return try found(Search(q: text, page: request.uri.queryParameters.get("page", as: Int.self)), request)
    }
    // A search with a body (RFC 10008).
    group.on("search", method: .query) { request, context in
      try found(try await URLEncodedFormDecoder().decode(Search.self, from: request, context: context), request)
    }
  }

  /// A page of the front page, with links to the pages beside it.
  private func front(_ request: Request) throws -> Response {
    let cursor = request.uri.queryParameters.get("before", as: Int.self).map(FrontPage.Cursor.before) ?? .newest
    let printed = newspaper.printed
    guard let page = FrontPage(printed.articles.map(\.summary), without: printed.withdrawn, at: cursor) else {
      throw HTTPError(.notFound)
    }
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

  private struct Search: Decodable {
    var q: String
    var page: Int?
  }

  /// A page of search results, with links to the neighbouring pages.
  private func found(_ search: Search, _ request: Request) throws -> Response {
    let page = ArticlePage(newspaper.search(search.q).map(\.summary), of: search.q, number: search.page ?? 1)
    let text = search.q.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    let query = text.isEmpty ? "" : "q=\(text)&"
    let links = [(page.page - 1, "prev"), (page.page + 1, "next")].filter { (1...page.pages).contains($0.0) }
      .map { ("/search?\(query)page=\($0.0)", $0.1) }
    return try answer(page, to: request, links)
  }

  /// - Parameter links: addresses with their relations (RFC 8288).
  private func answer(_ value: some Encodable, to request: Request, _ links: [(String, String)]) throws -> Response {
    var response = try dials.answer(value, to: request, freshFor: 5, in: Dials.lists)
    if let name = HTTPField.Name("Link"), !links.isEmpty {
      response.headers[name] = links.map { "<\($0)>; rel=\"\($1)\"" }.joined(separator: ", ")
    }
    return response
  }
}
