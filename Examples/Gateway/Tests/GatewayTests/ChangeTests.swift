import Foundation
import HTTPTypes
import ReactorAsyncHTTPClient
import ReactorCore
import ReactorLive
import ServerSentEvents
import ServiceLifecycle
import Testing

@testable import ShopGateway

@Suite("The changes of a shop", .timeLimit(.minutes(5))) struct ChangeTests {
  private func backend(_ gateway: RunningGateway) -> Backend {
    Backend(baseURL: gateway.clients, transport: AsyncHTTPClientTransport(), reachability: .always)
  }

  @Test func `a price that is changed through the gateway reaches a client that shows it`() async throws {
    try await RunningGateway.use { gateway async throws in
      let layer = ModelLayer(backend: backend(gateway), extensions: [.live("events")])
      var states = layer.reactor(ProductPage.self).states(for: Resource("products/7")).makeAsyncIterator()
      var cents = 0
      while let state = await states.next(), state.value == nil {}
      for await status in try #require(layer.live).statuses where status.isLive { break }
      // The fetch that the first connection causes may have the first price.
      for price in [990, 1990] {
        let answer = try await gateway.ask(.patch, "/products/7", admin: true, body: #"{"cents":\#(price)}"#)
        #expect(answer.status == 200)
        while cents != price, let state = await states.next() { cents = state.value?.product.cents ?? 0 }
      }
      #expect(cents == 1990)
    }
  }

  @Test func `a refused price tells nothing, and the end of the gateway is told`() async throws {
    try await RunningGateway.use { gateway async throws in
      var events = backend(gateway).events(for: Resource("events")).makeAsyncIterator()
      let hello = try await events.next()
      #expect(hello?.type == "hello")
      for (path, body, status) in [
        ("/products/7", #"{"cents":0}"#, 422), ("/products/7", "{}", 400), ("/products/0", #"{"cents":1}"#, 404),
      ] {
        let answer = try await gateway.ask(.patch, path, admin: true, body: body)
        #expect(answer.status == status)
      }
      #expect(try await gateway.ask(.patch, "/products/7", body: #"{"cents":1}"#).status == 404, "only for operators")
      await gateway.services.triggerGracefulShutdown()
      let farewell = try await events.next()
      #expect(farewell?.type == "bye")
      let end = try await events.next()
      #expect(end == nil)
    }
  }

  @Test func `a ninth stream of one token is refused, and one of another is not`() async throws {
    try await RunningGateway.use { gateway async throws in
      func stream(_ user: String) async throws -> ResponseBody {
        let resource = Resource("events", headers: [.authorization: "Bearer user-\(user)"])
        return try await backend(gateway).stream(for: resource).body
      }
      var streams: [ResponseBody] = []
      for _ in 0..<8 { streams.append(try await stream("ada")) }
      let refused = try await gateway.ask(.get, "/events", authorization: "Bearer user-ada")
      #expect(refused.status == 429 && refused.fields[.retryAfter] == "60")
      streams.append(try await stream("bob"))
      #expect(try await gateway.page(7, "ada").status == 200)
      withExtendedLifetime(streams) {}
    }
  }
}
