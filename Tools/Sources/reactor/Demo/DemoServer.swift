import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// The news API on a free loopback port, with a count of the requests that it received.
///
/// - `GET /articles`: an array, with an `ETag`, and nothing about freshness.
/// - `GET /envelope`: the same array in `{"data": {"articles": […]}}`, with an `ETag` and `Cache-Control: max-age=60`.
final class DemoServer: Sendable {
  private let count: RequestCount
  private let running: Task<Void, any Error>
  let url: URL

  /// Starts the server; returns once it listens.
  static func start() async throws -> DemoServer {
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    let count = RequestCount()
    var logger = Logger(label: "demo")
    logger.logLevel = .critical
    let application = Application(
      router: router(count), configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) }, logger: logger)
    let running = Task {
      defer { port.finish() }
      try await application.run()
    }
    for await number in ports {
      guard let url = URL(string: "http://127.0.0.1:\(number)") else { continue }
      return DemoServer(count: count, running: running, url: url)
    }
    try await running.value
    throw CancellationError()
  }

  private init(count: RequestCount, running: Task<Void, any Error>, url: URL) {
    self.count = count
    self.running = running
    self.url = url
  }

  /// How many requests have arrived.
  var requestCount: Int { count.value }

  /// Ends the server and its connections; returns when nothing listens any more.
  func stop() async {
    running.cancel()
    _ = await running.result
  }

  private static func router(_ count: RequestCount) -> Router<BasicRequestContext> {
    let router = Router()
    router.get("articles") { request, _ in
      count.add()
      return answer(request, NewsAPI.articles, tag: "\"articles-1\"")
    }
    router.get("envelope") { request, _ in
      count.add()
      return answer(request, NewsAPI.envelope, tag: "\"envelope-1\"", cacheControl: "max-age=60")
    }
    return router
  }

  private static func answer(_ request: Request, _ body: Data, tag: String, cacheControl: String? = nil) -> Response {
    var fields: HTTPFields = [.contentType: "application/json", .eTag: tag]
    fields[.cacheControl] = cacheControl
    guard request.headers[.ifNoneMatch] != tag else { return Response(status: .notModified, headers: fields) }
    return Response(status: .ok, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
  }
}

private final class RequestCount: Sendable {
  private let count = Atomic(0)

  var value: Int { count.load(ordering: .acquiring) }

  func add() { count.add(1, ordering: .acquiringAndReleasing) }
}
