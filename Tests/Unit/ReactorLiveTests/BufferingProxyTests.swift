import Foundation
import HTTPTypes
import ReactorChangeFeed
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorLive

/// A feed of changes and a resource, over real connections, behind a proxy that sends each response
/// once it has ended.
private final class BufferedShop: Sendable {
  let clock = TestClock()
  let feed: ChangeFeed
  let likes = Shared(1)
  /// The header fields of each request for the stream, as the proxy has received them.
  let asked = Shared<[(prefer: String?, place: String?)]>([])

  init() {
    var configuration = ChangeFeedConfiguration()
    configuration.clock = clock
    feed = ChangeFeed(configuration)
  }

  func answer(_ request: MockServer.Request) -> MockServer.Response {
    guard request.target == "/events" else {
      return .json(#"{"likes":\#(likes.value)}"#, headers: [.cacheControl: "max-age=1000"])
    }
    var head = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/events")
    for name in ["Prefer", "Last-Event-ID"] {
      if let field = HTTPField.Name(name) { head.headerFields[field] = request[name] }
    }
    do throws(ChangeFeedError) {
      let (stream, body) = (try feed.open(head), ScriptedBody())
      Task {
        for await piece in stream { body.send(Data(piece)) }
        body.finish()
      }
      return .streaming(body, headers: ChangeFeed.fields)
    } catch {
      return .status(error.response.status.code)
    }
  }

  /// Asks the server, and waits for the whole response, on the thread of the connection.
  func pass(_ request: MockServer.Request, to server: URL) -> MockServer.Response {
    var resource = Resource(request.target)
    for name in ["Prefer", "Last-Event-ID", "Accept"] {
      if let field = HTTPField.Name(name) { resource.headers[field] = request[name] }
    }
    if request.target == "/events" { asked.change { $0.append((request["Prefer"], request["Last-Event-ID"])) } }
    let (answer, arrived) = (Shared(MockServer.Response.status(502)), DispatchSemaphore(value: 0))
    Task { [resource] in
      defer { arrived.signal() }
      let response = try await Backend(baseURL: server, reachability: .always).stream(for: resource)
      var body = Data()
      for try await piece in response.body { body += piece }
      let fields: HTTPFields = [.contentType: response.response.headerFields[.contentType] ?? ""]
      answer.change { [body] in $0 = .status(response.response.status.code, headers: fields, body: body) }
    }
    arrived.wait()
    return answer.value
  }

  func run(_ body: @escaping @Sendable (BufferedShop, ModelLayer) async throws -> Void) async throws {
    try await MockServer.run {
      self.answer($0)
    } body: { server in
      try await MockServer.run { [url = server.url] in
        self.pass($0, to: url)
      } body: { proxy in
        var configuration = ReactorConfiguration()
        configuration.clock = clock
        configuration.now = clock.wallClock
        var live = LiveConfiguration()
        live.seed = 1
        let backend = Backend(baseURL: proxy.url, reachability: .always)
        try await body(
          self,
          ModelLayer(backend: backend, configuration: configuration, extensions: [.live("events", configuration: live)])
        )
        // The streams that the proxy still reads end.
        feed.shutdown()
      }
    }
  }

  func wait(until isTrue: () -> Bool) async { while !isTrue(), !Task.isCancelled { await Task.yield() } }
}

@Suite("A stream through a proxy that holds responses back", .timeLimit(.minutes(1))) struct BufferingProxyTests {
  @Test func `changes reach a screen through a proxy that sends no response before its end`() async throws {
    try await BufferedShop().run { shop, layer in
      let isShown = Shared(false)
      let screen = Task {
        for await state in layer.reactor(Post.self).states(for: "posts/1") where state.value?.likes == 7 {
          isShown.change { $0 = true }
        }
      }
      let live = try #require(layer.live)
      for number in 1...2 {
        await shop.wait { shop.asked.value.count == number }
        await shop.wait { shop.feed.clients == number }
        shop.clock.advance(by: .seconds(10))
        if number == 1 {
          await shop.wait { live.status.description.hasPrefix("interrupted") }
          shop.clock.advance(by: .seconds(2))
        }
      }
      await shop.wait { live.status.isLive }
      shop.clock.advance(by: .seconds(2))
      await shop.wait { shop.asked.value.count == 4 }
      await shop.wait { shop.feed.clients == 3 }
      #expect(shop.asked.value.map(\.prefer) == [nil, nil, "wait=0", "wait=25"])
      shop.likes.change { $0 = 7 }
      shop.feed.publish([.url("/posts/1")])
      await shop.wait { live.lastEventID.hasSuffix(".1") }
      // The resource may rest after the request that the first answer has caused.
      while !isShown.value, !Task.isCancelled {
        shop.clock.advance(by: .milliseconds(50))
        for _ in 0..<100 { await Task.yield() }
      }
      screen.cancel()
      #expect(shop.asked.value[3].place?.hasSuffix(".0") == true)
    }
  }
}
