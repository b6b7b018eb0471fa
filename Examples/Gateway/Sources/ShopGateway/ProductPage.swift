import Foundation
import HTTPTypes
import ReactorCore

/// Everything that a page about a product shows, from three APIs.
struct ProductPage: Codable, Sendable, Hashable {
  var product: Product
  /// `nil`: not known now.
  var stock: Stock?
  /// `nil` if no user is signed in, or the account is not known now.
  var account: Account?
  /// The names of the parts that are not known now.
  var missing: [String] = []
}

/// A part of an answer, with its member of `Cache-Status` (RFC 9211).
struct Part<Model: Sendable>: Sendable {
  let name: String
  let result: Result<Model, ReactorError>
  let cacheStatus: String

  init(_ name: String, _ reactor: Reactor<Model>, _ resource: Resource) async {
    self.name = name
    do throws(ReactorError) {
      let response = try await reactor.fetchResponse(resource)
      result = .success(response.model)
      cacheStatus = name + Self.handling(response)
    } catch {
      result = .failure(error)
      cacheStatus = name + "; detail=" + Self.reason(error)
    }
  }

  var model: Model? { try? result.get() }

  private static func handling(_ response: ModelResponse<Model>) -> String {
    switch response.origin {
    case .network: "; fwd=miss; stored"
    // Another gateway's request has brought it.
    case .fleet: response.isStale ? "; hit; detail=fleet-stale" : "; hit; detail=fleet"
    // A stale one is a fallback: the API has not answered well, or not in time.
    case .memory, .persistence, .local: response.isStale ? "; hit; detail=stale" : "; hit"
    }
  }

  private static func reason(_ error: ReactorError) -> String {
    switch error {
    case .timedOut: "timed-out"
    case .server(let response, _): "status-\(response.status.code)"
    default: "unreachable"
    }
  }
}

extension Shop {
  /// Joins the parts of a page. Only the product is needed; the page says which others are missing.
  ///
  /// - Parameter token: the user's; `nil` without a user.
  func page(of id: Int, for token: String?) async -> (page: Result<ProductPage, ReactorError>, cacheStatus: String) {
    async let product = Part("catalogue", products, Self.resource("products/\(id)"))
    async let stock = Part("stock", stocks, Self.resource("stock/\(id)"))
    async let account = account(token)
    let parts = await (product: product, stock: stock, account: account)
    let status = [parts.product.cacheStatus, parts.stock.cacheStatus, parts.account?.cacheStatus].compactMap(\.self)
    let page = parts.product.result.map { product in
      var page = ProductPage(product: product, stock: parts.stock.model, account: parts.account?.model)
      if page.stock == nil { page.missing.append("stock") }
      if parts.account != nil, page.account == nil { page.missing.append("account") }
      return page
    }
    return (page, status.joined(separator: ", "))
  }

  private func account(_ token: String?) async -> Part<Account>? {
    guard let token else { return nil }
    return await Part("account", users.user(token).accounts, Self.resource("account"))
  }
}
