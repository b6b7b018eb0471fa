public import Foundation
import Hummingbird
public import Logging
import NIOCore
public import ServiceLifecycle

/// The news API, on this machine alone.
///
/// - `GET /articles?page=`, `/articles/{id}`, `/authors/{id}`, `/search?q=&page=`: for everybody.
/// - `POST /session`, `POST /session/refresh`, `DELETE /session`: bearer tokens; one that has expired is answered with 401 everywhere.
/// - `GET /reading-list`, `PUT` and `DELETE /reading-list/{id}`: the user's.
/// - `/admin`: see ``AdminRoutes``.
///
/// Every answer to a `GET` has an `ETag` and says how long it is fresh; a request with that tag is answered with 304.
public struct NewsServer: Service {
  private let routes: NewsRoutes
  private let port: Int
  private let logger: Logger
  private let onRunning: @Sendable (URL) -> Void

  /// - Parameters:
  ///   - port: 0: a free one.
  ///   - tokenLifetime: how long an access token is good for.
  ///   - onRunning: is called once, when the server listens.
  public init(
    port: Int = 0, tokenLifetime: Duration = .seconds(60), logger: Logger,
    now: @escaping @Sendable () -> Date = { Date() }, onRunning: @escaping @Sendable (URL) -> Void
  ) {
    routes = NewsRoutes(sessions: Sessions(lifetime: tokenLifetime, now: now))
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
    try await application.run()
  }
}
