import Foundation
import HTTPTypes
import ReactorLoopback
import Synchronization

/// The news API on a loopback port. It counts the requests.
///
/// - `GET /articles`: an array with an `ETag`, and nothing about freshness.
/// - `GET /envelope`: the same array in `{"data": {"articles": […]}}`, with an `ETag` and
///   `Cache-Control: max-age=60`.
final class DemoServer: Sendable {
  private let server: LoopbackServer
  private let count = Atomic(0)

  /// Starts the server.
  ///
  /// - Parameter port: The port to listen on; 0 for any free port.
  /// - Throws: `POSIXError`, with `EADDRINUSE` if the port is taken.
  init(port: Int = 0) throws {
    server = try LoopbackServer(port: port)
    server.start { self.serve($0) }
  }

  var url: URL { server.url }
  var port: Int { server.port }

  /// The number of received requests.
  var requestCount: Int { count.load(ordering: .acquiring) }

  /// Stops the server and closes its connections. Blocks until the port is closed.
  func stop() { server.stop() }

  private func serve(_ connection: Socket) {
    var reader = RequestReader(socket: connection)
    while let request = reader.next() {
      count.add(1, ordering: .acquiringAndReleasing)
      guard connection.send(answer(request)), !request.isLast else { return }
    }
  }

  private func answer(_ request: LoopbackRequest) -> Data {
    switch request.target {
    case "/articles": answer(request, NewsAPI.articles, tag: "\"articles-1\"")
    case "/envelope": answer(request, NewsAPI.envelope, tag: "\"envelope-1\"", caching: ["max-age=60"])
    default: ResponseHead.bytes(404, [("Content-Length", "0")])
    }
  }

  private func answer(_ request: LoopbackRequest, _ body: Data, tag: String, caching: [String] = []) -> Data {
    let fields = [("Content-Type", "application/json"), ("ETag", tag)] + caching.map { ("Cache-Control", $0) }
    guard request["If-None-Match"] != tag else { return ResponseHead.bytes(304, fields) }
    return ResponseHead.bytes(200, fields + [("Content-Length", "\(body.count)")]) + body
  }
}
