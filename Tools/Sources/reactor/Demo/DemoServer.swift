import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// The news API on a free loopback port, with a count of the requests that it received.
///
/// - `GET /articles`: an array, with an `ETag`, and nothing about freshness.
/// - `GET /envelope`: the same array in `{"data": {"articles": […]}}`, with an `ETag` and `Cache-Control: max-age=60`.
final class DemoServer: Sendable {
  private let count: RequestCount
  private let services: ServiceGroup
  private let running: Task<Void, any Error>
  let url: URL

  /// Starts the server; returns once it listens, in a cancelled task too.
  static func start() async throws -> DemoServer {
    let count = RequestCount()
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    let services = ServiceGroup(services: [application(count, port)], logger: logger)
    let running = Task {
      defer { port.finish() }
      try await services.run()
    }
    // In a task of its own: in one that is cancelled, the stream would end before there is a port.
    let number = await Task { await ports.first { _ in true } }.value
    guard let number, let url = URL(string: "http://127.0.0.1:\(number)") else {
      try await running.value
      throw CancellationError()
    }
    return DemoServer(count: count, services: services, running: running, url: url)
  }

  private init(count: RequestCount, services: ServiceGroup, running: Task<Void, any Error>, url: URL) {
    self.count = count
    self.services = services
    self.running = running
    self.url = url
  }

  /// How many requests have arrived.
  var requestCount: Int { count.value }

  /// Ends the server and its connections; returns when nothing listens any more.
  func stop() async {
    // Not by cancelling: a connection that has just been accepted would be let go unfinished, which SwiftNIO traps on.
    await services.triggerGracefulShutdown()
    _ = await running.result
  }

  private static var logger: Logger {
    var logger = Logger(label: "demo")
    logger.logLevel = .critical
    return logger
  }

  private static func application(_ count: RequestCount, _ port: AsyncStream<Int>.Continuation) -> some Service {
    Application(
      router: router(count), configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in
        if let number = channel.localAddress?.port { port.yield(number) } else { port.finish() }
      }, logger: logger)
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
