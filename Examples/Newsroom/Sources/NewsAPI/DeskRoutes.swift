import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The editors' page: `GET /desk`, with forms that publish a story and correct one.
struct DeskRoutes: Sendable {
  let newspaper: Newspaper
  let desk: NewsDesk

  func add(to group: RouterGroup<NewsContext>) {
    group.get { request, _ in
      let articles = newspaper.articles
      let id = request.uri.queryParameters.get("article", as: Int.self)
      return Self.html(
        DeskPage(articles: articles, chosen: articles.first { $0.summary.id == id }, next: desk.next).text)
    }
    group.post("articles") { request, context in
      try Self.checkOrigin(of: request)
      try desk.publish(try await Self.form(request, context))
      return Response.redirect(to: "/desk", type: .normal)
    }
    group.post("articles/{id}") { request, context in
      try Self.checkOrigin(of: request)
      let id = try context.parameters.require("id", as: Int.self)
      try desk.correct(id, try await Self.form(request, context))
      return Response.redirect(to: "/desk?article=\(id)", type: .normal)
    }
  }

  /// A form of another site is refused: any page may post one (RFC 6454 §7).
  private static func checkOrigin(of request: Request) throws {
    guard let host = request.head.authority, request.headers[.origin] == "http://\(host)" else {
      throw HTTPError(.forbidden)
    }
  }

  private static func form<Form: Decodable>(_ request: Request, _ context: NewsContext) async throws -> Form {
    let body = try await request.body.collect(upTo: 64 << 10)
    return try URLEncodedFormDecoder().decode(Form.self, from: String(buffer: body))
  }

  private static func html(_ text: String) -> Response {
    var fields: HTTPFields = [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"]
    fields[.contentSecurityPolicy] =
      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    return Response(status: .ok, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }
}
