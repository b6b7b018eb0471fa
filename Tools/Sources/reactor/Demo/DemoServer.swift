import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// The news API on a loopback port. It counts the requests.
///
/// - `GET /articles`: an array with an `ETag`, and nothing about freshness.
/// - `GET /envelope`: the same array in `{"data": {"articles": […]}}`, with an `ETag` and
///   `Cache-Control: max-age=60`.
final class DemoServer: Sendable {
  private let count: RequestCount
  private let server: LoopbackServer

  /// Starts the server, and returns once it listens. Cancellation does not stop the start.
  ///
  /// - Parameter port: The port to listen on; 0 for any free port.
  static func start(port: Int = 0) async throws -> DemoServer {
    let count = RequestCount()
    return DemoServer(count: count, server: try await .start(router(count), port: port))
  }

  private init(count: RequestCount, server: LoopbackServer) {
    self.count = count
    self.server = server
  }

  var url: URL { server.url }

  /// The number of received requests.
  var requestCount: Int { count.value }

  /// Stops the server and closes its connections. Returns when the port is closed.
  func stop() async { await server.stop() }

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
