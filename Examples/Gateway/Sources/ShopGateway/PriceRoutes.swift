import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ReactorChangeFeed
import ReactorCore

/// `PATCH /products/{id}` with `{"cents": 990}`: changes a price in the catalogue, and tells the
/// clients.
struct PriceRoutes: Sendable {
  let shop: Shop
  let feed: ChangeFeed

  private struct Price: Decodable {
    var cents: Int
  }

  func add(to router: Router<ClientContext>) {
    router.patch("products/:id") { request, context in
      guard let id = context.parameters.get("id").flatMap({ Int($0) }) else { throw HTTPError(.notFound) }
      let price = try await request.decode(as: Price.self, context: context)
      guard (1...1_000_000).contains(price.cents) else { throw HTTPError(.unprocessableContent) }
      let product: Product
      do {
        product = try await shop.setPrice(price.cents, of: id)
      } catch ReactorError.server(let response, _) {
        if response.status.kind != .clientError { publishChange(of: id, by: request.head.changeID) }
        throw HTTPError(response.status.code == 404 ? .notFound : .badGateway)
      } catch {
        // Without an answer, the catalogue may have changed the price all the same.
        publishChange(of: id, by: request.head.changeID)
        throw HTTPError(.badGateway)
      }
      publishChange(of: id, by: request.head.changeID)
      return Response(
        status: .ok, headers: [.contentType: "application/json; charset=utf-8"],
        body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(product))))
    }
  }

  /// Without a tag: a page has none, since its stock changes by itself, and its discount is a
  /// user's.
  private func publishChange(of id: Int, by changeID: String?) {
    feed.publish([.url("/products/\(id)")], by: changeID)
  }
}
