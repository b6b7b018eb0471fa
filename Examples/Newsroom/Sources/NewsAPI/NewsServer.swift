public import Foundation
import Hummingbird
public import Logging
import NIOCore
public import ReactorChangeFeed
public import ServiceLifecycle

/// The news API, reachable only from this machine.
///
/// - `GET /articles?before=`, `/articles/{id}`, `/authors/{id}`, `/search?q=&page=`, and
///   `QUERY /search` with a form: for everybody.
///   Lists have links to the pages beside them (RFC 8288).
/// - `POST /session`, `POST /session/refresh`, `DELETE /session`: bearer tokens; an expired one
///   gets 401 everywhere.
/// - `GET` and `POST /articles/{id}/comments`, `DELETE /articles/{id}/comments/{id}`: everybody
///   reads, users write and delete their own. A client that repeats a `POST` sends an
///   `Idempotency-Key`.
/// - `GET /reading-list`, `PUT` and `DELETE /reading-list/{id}`: the user's.
/// - `GET /events`: the changes of all these, as server-sent events.
/// - `/desk`: a page for editors, who publish stories and correct them.
/// - `/admin`: see ``AdminRoutes``.
///
/// Every answer to a `GET` has an `ETag` and says how long it is fresh; a request with that tag is
/// answered with 304.
public struct NewsServer: Service {
  private let routes: NewsRoutes
  private let port: Int
  private let logger: Logger
  private let onRunning: @Sendable (URL) -> Void

  /// - Parameters:
  ///   - port: 0: a free one.
  ///   - directory: where comments, reading lists, sessions and the answers to requests with a key
  ///     outlive the program; `nil`: nowhere.
  ///   - changes: the limits of the streams of changes.
  ///   - tokenLifetime: how long an access token is good for.
  ///   - sleep: waits for the latency, before an answer and within its body. By default the task
  ///     sleeps; tests inject their own wait.
  ///   - onRunning: is called once, when the server listens.
  /// - Throws: the error of an unreadable file in the directory.
  public init(
    port: Int = 0, directory: URL? = nil, tokenLifetime: Duration = .seconds(60),
    changes: ChangeFeedConfiguration = ChangeFeedConfiguration(), logger: Logger,
    now: @escaping @Sendable () -> Date = { Date() },
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    onRunning: @escaping @Sendable (URL) -> Void
  ) throws {
    let archive = try NewsArchive(directory: directory)
    routes = NewsRoutes(
      newspaper: try Newspaper(archive: archive, now: now()), archive: archive, tokenLifetime: tokenLifetime,
      now: now, dials: Dials(sleep: sleep), feed: ChangeFeed(changes))
    self.port = port
    self.logger = logger
    self.onRunning = onRunning
  }

  public func run() async throws {
    let application = Application(
      router: routes.router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { channel in
        guard let port = channel.localAddress?.port, let url = URL(string: "http://127.0.0.1:\(port)") else { return }
        onRunning(url)
      }, logger: logger)
    // An open stream would keep its connection, and the server waits for all of them.
    try await withGracefulShutdownHandler {
      try await application.run()
    } onGracefulShutdown: {
      routes.feed.shutdown()
    }
  }
}
