import Foundation
import HTTPTypes
import ShopAPIs
import Testing

@testable import ShopGateway

@Suite("The page of a product", .timeLimit(.minutes(5))) struct PageTests {
  private func page(_ answer: Answer) throws -> ProductPage {
    try JSONDecoder().decode(ProductPage.self, from: Data(answer.text.utf8))
  }

  @Test func `the page of a product joins three APIs, and asks each of them once`() async throws {
    try await RunningGateway.use { gateway async throws in
      let first = try await gateway.page(7, "ada")
      #expect(first.status == 200 && first.fields[.cacheControl] == "private, no-cache")
      #expect(first.cacheStatus == "catalogue; fwd=miss; stored, stock; fwd=miss; stored, account; fwd=miss; stored")
      let page = try page(first)
      #expect(page.product.name == "Product 7" && page.stock?.id == 7 && page.account?.name == "ada")
      #expect(page.missing.isEmpty)

      for _ in 0..<20 {
        let again = try await gateway.page(7, "ada")
        #expect(again.text == first.text && again.cacheStatus == "catalogue; hit, stock; hit, account; hit")
      }
      #expect(gateway.shop.values.allSatisfy { $0.requests == 1 })
    }
  }

  @Test func `a page shows an account only to its user`() async throws {
    try await RunningGateway.use { gateway async throws in
      for user in ["ada", "bob", "ada"] { #expect(try page(await gateway.page(7, user)).account?.name == user) }
      let nobody = try await gateway.page(7)
      #expect(try page(nobody).account == nil && nobody.cacheStatus == "catalogue; hit, stock; hit")
      #expect(gateway.shop[.account]?.requests == 2)
    }
  }

  @Test func `the page of a product goes without the parts that are not known`() async throws {
    try await RunningGateway.use { gateway async throws in
      gateway.shop[.stock]?.turn(isFailing: true)
      let answer = try await gateway.ask(.get, "/products/7", authorization: "Bearer stolen")
      let page = try page(answer)
      #expect(answer.status == 200 && page.stock == nil && page.account == nil)
      #expect(page.missing == ["stock", "account"])
      #expect(
        answer.cacheStatus
          == "catalogue; fwd=miss; stored, stock; detail=status-503, account; detail=status-401")
    }
  }

  @Test func `the page of a product has its stale parts while their APIs fail`() async throws {
    try await RunningGateway.use { gateway async throws in
      let first = try await gateway.page(7, "ada")
      gateway.clock.advance(by: 120)
      for dials in gateway.shop.values { dials.turn(isFailing: true) }
      for _ in 0..<20 {
        let answer = try await gateway.page(7, "ada")
        #expect(answer.status == 200 && answer.text == first.text)
        #expect(
          answer.cacheStatus == "catalogue; hit; detail=stale, stock; hit; detail=stale, account; hit; detail=stale")
      }
      // The first one, and two attempts; then the outage is remembered.
      #expect(gateway.shop.values.allSatisfy { (2...4).contains($0.requests) })
    }
  }

  @Test func `the page of a product is a 502 without its product, and says nothing about the API`() async throws {
    try await RunningGateway.use { gateway async throws in
      gateway.shop[.catalogue]?.turn(isFailing: true)
      let answer = try await gateway.page(7)
      #expect(answer.status == 502 && answer.fields[.retryAfter] == "1")
      #expect(answer.fields[.contentType] == "application/problem+json")
      #expect(answer.text == #"{"title":"the catalogue cannot be reached","status":502}"#)
    }
  }

  @Test(arguments: ["/products/10001", "/products/0", "/products/x", "/products", "/product/1"])
  func `the page of a product is a 404 where there is no such product`(_ path: String) async throws {
    try await RunningGateway.use { gateway async throws in
      let answer = try await gateway.ask(.get, path)
      #expect(answer.status == 404)
    }
  }

  @Test(arguments: ["Basic YTpi", "Bearer", "Bearer ", "Bearer " + String(repeating: "x", count: 1025)])
  func `the page of a product refuses what is no token`(_ field: String) async throws {
    try await RunningGateway.use { gateway async throws in
      let answer = try await gateway.ask(.get, "/products/1", authorization: field)
      #expect(answer.status == 401 && gateway.shop[.account]?.requests == 0)
    }
  }
}
