import Foundation
import HTTPTypes
import ReactorAsyncHTTPClient
import ReactorCore
import ReactorLive
import ServerSentEvents
import ServiceLifecycle
import Synchronization
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

  @Test func `an operator's own prices cost the operator one request each beside the write`() async throws {
    try await RunningGateway.use { gateway async throws in
      let reads = ReadCounter()
      let backend = Backend(
        baseURL: gateway.admin, transport: AsyncHTTPClientTransport(), middlewares: [reads], reachability: .always)
      let layer = ModelLayer(backend: backend, extensions: [.live("events")])
      let pages = layer.reactor(ProductPage.self)
      var page = Screen(pages.states(for: Resource("products/7")))
      var other = Screen(pages.states(for: Resource("products/8")))
      await page.wait { $0.value != nil }
      await other.wait { $0.value != nil }
      for await status in try #require(layer.live).statuses where status.isLive { break }
      var events = self.backend(gateway).events(for: Resource("events")).makeAsyncIterator()
      _ = try await events.next()
      for price in [990, 991, 992] {
        try await layer.send(Resource("products/7", method: .patch, json: ["cents": price]))
        await page.wait { $0.value?.product.cents == price }
        // The layer knows its own change by the id, should the event come after the answer.
        let change = try await events.next()
        #expect(change?.data.contains(#""by":""#) == true)
      }
      // A later change of somebody else: the event of the own one has come before.
      let answer = try await gateway.ask(.patch, "/products/8", admin: true, body: #"{"cents":880}"#)
      #expect(answer.status == 200)
      await other.wait { $0.value?.product.cents == 880 }
      // Each page: the first, one as the stream begins, and one for each of its changes.
      #expect(reads.count <= 8)
    }
  }

  @Test(.enabled(if: SharedStore.isInstalled, "redis-server is not installed: apt-get install redis-server"))
  func `in a fleet, a price that is changed through one gateway reaches the client of another`() async throws {
    try await SharedStore.use { fleet async throws in
      try await RunningGateway.use(["FLEET": fleet]) { one async throws in
        try await RunningGateway.use(one.apis.merging(["FLEET": fleet]) { $1 }) { two async throws in
          let layer = ModelLayer(backend: backend(two), extensions: [.live("events")])
          var page = Screen(layer.reactor(ProductPage.self).states(for: Resource("products/7")))
          await page.wait { $0.value != nil }
          for await status in try #require(layer.live).statuses where status.isLive { break }
          for price in [990, 1990] {
            let answer = try await one.ask(.patch, "/products/7", admin: true, body: #"{"cents":\#(price)}"#)
            #expect(answer.status == 200)
            await page.wait { $0.value?.product.cents == price }
          }
        }
      }
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

/// The latest state of a page.
private struct Screen {
  private var states: LoadStates<ProductPage>.Iterator
  private var latest: LoadState<ProductPage>?

  init(_ states: LoadStates<ProductPage>) { self.states = states.makeAsyncIterator() }

  mutating func wait(_ condition: (LoadState<ProductPage>) -> Bool) async {
    while latest.map(condition) != true, let next = await states.next() { latest = next }
  }
}

/// Counts the requests for pages.
private final class ReadCounter: TransportMiddleware {
  private let reads = Mutex(0)

  var count: Int { reads.withLock(\.self) }

  func intercept(
    _ request: HTTPRequest, body: Data?,
    next: @Sendable (HTTPRequest, Data?) async throws -> (HTTPResponse, Data)
  ) async throws -> (HTTPResponse, Data) {
    if request.method == .get, request.path?.hasPrefix("/products/") == true { reads.withLock { $0 += 1 } }
    return try await next(request, body)
  }
}

/// A server of Debian's package `redis-server`, for one test.
private enum SharedStore {
  private static let path = "/usr/bin/redis-server"

  static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

  /// Runs `body` with the URL of a server without contents, on a free port.
  static func use(_ body: (String) async throws -> Void) async throws {
    // Another process may have the port.
    for _ in 0..<5 {
      let directory = FileManager.default.temporaryDirectory.appending(path: "gateway-redis-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      let port = Int.random(in: 20_000..<32_000)
      let process = try launch(port, in: directory)
      // The server inherits a blocked SIGTERM from the thread that starts it.
      defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
      if try await isReady(process, directory.appending(path: "log")) {
        return try await body("redis://127.0.0.1:\(port)")
      }
    }
    throw URLError(.cannotConnectToHost)
  }

  private static func launch(_ port: Int, in directory: URL) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = [
      "--bind", "127.0.0.1", "--port", "\(port)", "--save", "", "--appendonly", "no", "--dir",
      directory.path(percentEncoded: false), "--logfile", "log",
    ]
    // Whoever reads the output of the tests waits for everything that holds it.
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  /// Returns once the server accepts connections, or `false` once it has ended.
  private static func isReady(_ process: Process, _ log: URL) async throws -> Bool {
    while (try? String(contentsOf: log, encoding: .utf8))?.contains("Ready to accept connections") != true {
      guard process.isRunning else { return false }
      try await Task.sleep(for: .milliseconds(10))
    }
    return true
  }
}
