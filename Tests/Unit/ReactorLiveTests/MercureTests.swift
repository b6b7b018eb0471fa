import Foundation
import HTTPTypes
import ReactorCore
import ReactorMiddleware
import ReactorTesting
import ServerSentEvents
import TestSupport
import Testing

@testable import ReactorLive

private struct Book: Codable, Hashable { var pages: Int }

@Suite("The updates of a Mercure hub", .timeLimit(.minutes(1))) struct MercureTests {
  /// A server of books, whose hub is another one, and a layer that follows it.
  private struct Library: Sendable {
    let hub = StandInHub()
    let pages = Shared(1)
    let asked = Shared<[String]>([])

    func run(
      configure: @escaping @Sendable (inout MercureHub) -> Void = { _ in },
      _ body: @escaping @Sendable (Library, ModelLayer) async throws -> Void
    ) async throws {
      try await MockServer.run {
        hub.answer($0)
      } body: { hubServer in
        try await MockServer.run { request in
          asked.change { $0.append("\(request.target) \(request["Authorization"] ?? "-")") }
          var headers: HTTPFields = [.cacheControl: "max-age=1000", .contentType: "application/json"]
          let hubURL = hubServer.url.absoluteString + "/.well-known/mercure"
          if let link = HTTPField.Name("Link") {
            headers[link] = "<\(hubURL)>; rel=\"mercure\", </books/1>; rel=self"
          }
          return .json(#"{"pages":\#(pages.value)}"#, headers: headers)
        } body: { server in
          let topic = MercureHub.Topic(server.url.absoluteString + "/books/{id}")
          var hub = MercureHub(hubServer.url.appending(path: ".well-known/mercure"), topics: [topic])
          configure(&hub)
          let backend = Backend(
            baseURL: server.url, authentication: BearerToken("api", origins: [server.url]), reachability: .always)
          try await body(self, ModelLayer(backend: backend, extensions: [.mercure(hub)]))
          self.hub.close()
        }
      }
    }

    /// Publishes a new number of pages.
    func publish(_ pages: Int, id: String, of layer: ModelLayer, data: String = #"{"@id":"/books/1"}"#) {
      self.pages.change { $0 = pages }
      hub.publish(.init(id: id, topic: base(layer) + "/books/1", data: data))
    }

    func base(_ layer: ModelLayer) -> String { layer.layer.backend?.baseURL.absoluteString ?? "" }
  }

  private static func wait(for pages: Int, in states: inout LoadStates<Book>.Iterator) async {
    while let state = await states.next(), state.value?.pages != pages || state.isStale {}
  }

  private static func live(_ layer: ModelLayer) async {
    guard let live = layer.live else { return }
    for await status in live.statuses where status.isLive { return }
  }

  @Test func `an update is shown, and the hub gets no credential of the API`() async throws {
    try await Library().run { library, layer in
      var states = layer.reactor(Book.self).states(for: "books/1").makeAsyncIterator()
      await Self.live(layer)
      await Self.wait(for: 1, in: &states)
      library.publish(2, id: "urn:1", of: layer)
      await Self.wait(for: 2, in: &states)
      #expect(library.hub.tokens == [""])
      #expect(library.asked.value.allSatisfy { $0.hasSuffix("Bearer api") })
      #expect(library.hub.requests.first?.queryItems?.map(\.name) == ["topic"])
    }
  }

  @Test func `a hub that ends its connections is asked for what came behind the last update, and nothing else`()
    async throws
  {
    try await Library().run { library, layer in
      var states = layer.reactor(Book.self).states(for: "books/1").makeAsyncIterator()
      await Self.live(layer)
      await Self.wait(for: 1, in: &states)
      library.publish(2, id: "urn:1", of: layer)
      await Self.wait(for: 2, in: &states)
      let asked = library.asked.value.count
      // Nothing was missed.
      library.hub.close()
      await library.hub.subscribed()
      await Self.live(layer)
      #expect(library.hub.places == ["", "urn:1"])
      #expect(library.hub.requests.last?.queryItems?.map(\.name) == ["topic", "lastEventID"])
      #expect(library.asked.value.count == asked)
      library.publish(3, id: "urn:2", of: layer)
      await Self.wait(for: 3, in: &states)
      #expect(library.asked.value.count == asked + 1)
    }
  }

  @Test(arguments: [true, false])
  func `a hub that has forgotten the place, or does not say, makes everything stale`(_ saysPlace: Bool) async throws {
    try await Library().run { library, layer in
      if !saysPlace { library.hub.hidePlaces() }
      var states = layer.reactor(Book.self).states(for: "books/1").makeAsyncIterator()
      await Self.live(layer)
      library.publish(2, id: "urn:1", of: layer)
      await Self.wait(for: 2, in: &states)
      if saysPlace { library.hub.forget() }
      library.pages.change { $0 = 9 }
      library.hub.close()
      await Self.wait(for: 9, in: &states)
    }
  }

  @Test(arguments: [MercureHub.TokenPlace.header, .query(), .cookie()])
  func `a token is sent where the hub reads it, and a new one after it was refused`(_ place: MercureHub.TokenPlace)
    async throws
  {
    let library = Library()
    let calls = Shared(0)
    library.hub.accept("t2")
    try await library.run {
      $0.tokenPlace = place
      $0.token = {
        calls.change { $0 += 1 }
        return "t\(calls.value)"
      }
    } _: { library, layer in
      var states = layer.reactor(Book.self).states(for: "books/1").makeAsyncIterator()
      await Self.live(layer)
      await Self.wait(for: 1, in: &states)
      #expect(library.hub.tokens == ["t1", "t2"])
      // The token expires, and the hub ends the connection.
      library.hub.accept("t3")
      library.hub.close()
      await library.hub.subscribed()
      #expect(library.hub.tokens == ["t1", "t2", "t3"])
    }
  }

  @Test func `a token that is refused twice ends it`() async throws {
    let library = Library()
    library.hub.accept("good")
    try await library.run {
      $0.token = { "bad" }
    } _: { library, layer in
      var states = layer.reactor(Book.self).states(for: "books/1").makeAsyncIterator()
      _ = await states.next()
      guard let live = layer.live else { return }
      for await status in live.statuses { if case .off(.authentication) = status { break } }
      #expect(library.hub.tokens == ["bad", "bad"])
    }
  }

  @Test func `a token that does not come within ten seconds is a connection that has failed`() async throws {
    let clock = TestClock()
    let (gate, opener) = AsyncStream.makeStream(of: Void.self)
    let token = Task {
      try await MercureHub.token(
        {
          // Ignores its cancellation.
          await Task { for await _ in gate {} }.value
          return "late"
        }, on: clock, nil)
    }
    try await clock.waitForSleepers()
    clock.advance(by: .seconds(10))
    await #expect(throws: ReactorError.self) { try await token.value }
    opener.finish()
    #expect(try await MercureHub.token({ "soon" }, on: clock, nil) == "soon")
  }

  @Test func `an update that names no resource makes everything stale`() async throws {
    try await Library().run { library, layer in
      var states = layer.reactor(Book.self).states(for: "books/1").makeAsyncIterator()
      await Self.live(layer)
      await Self.wait(for: 1, in: &states)
      library.publish(5, id: "urn:1", of: layer, data: "text")
      await Self.wait(for: 5, in: &states)
    }
  }

  @Test func `the hub that a response names is found, with the topic of its link to itself`() async throws {
    try await Library().run { library, layer in
      let answer = try await layer.reactor(Book.self).fetchResponse("books/1")
      let base = try #require(URL(string: library.base(layer) + "/books/1?page=2"))
      let hub = try #require(MercureHub(in: answer.links, of: base))
      #expect(hub.url.path() == "/.well-known/mercure")
      #expect(hub.topics == [MercureHub.Topic(library.base(layer) + "/books/1")])
      #expect(MercureHub(in: [], of: base) == nil)
    }
  }

  @Test func `an update is known by its JSON-LD, or by a type that is a URL`() {
    func id(_ data: String, type: String = "message") -> String? {
      LiveMapping.mercureID(of: ServerSentEvent(type: type, data: data))
    }
    #expect(id(#"{"@id":"/books/1","@type":"Book"}"#) == "/books/1")
    #expect(id("{}", type: "/books/2") == "/books/2")
    #expect(id("x", type: "https://example.com/books/2") == "https://example.com/books/2")
    #expect(id("{}") == nil)
    #expect(id(#"{"@id":7}"#, type: "Book") == nil)
  }
}
