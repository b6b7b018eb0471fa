import CoreMetrics
public import Foundation
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
import ReactorAsyncHTTPClient
import ReactorChangeFeed
import ReactorCore
import ReactorFleet
import ReactorInspector
import ReactorObservability
import ReactorValkey
public import ServiceLifecycle

/// A backend for frontends: it joins three APIs into one answer, with a cache in front of each.
///
/// It is a group of services: the two servers, the fleet, the reports of numbers, and last the
/// service that delays the shutdown. ServiceLifecycle ends them in the opposite order.
public struct Gateway: Service {
  private let settings: GatewaySettings
  private let logger: Logger
  private let metrics: PrometheusText
  private let now: @Sendable () -> Date
  private let sleep: @Sendable (Duration) async throws -> Void
  private let onRunning: @Sendable (Listener, URL) -> Void

  /// The ports of a gateway.
  public enum Listener: String, Sendable { case clients, admin }

  /// - Parameters:
  ///   - metrics: the factory of all metrics, whose text is at `/metrics`.
  ///   - now: the time of the caches.
  ///   - sleep: waits between SIGTERM and the end. A test passes its own.
  ///   - onRunning: is called once for each port, when the server listens at it.
  public init(
    _ settings: GatewaySettings, metrics: PrometheusText, logger: Logger,
    now: @escaping @Sendable () -> Date = { Date() },
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    onRunning: @escaping @Sendable (Listener, URL) -> Void
  ) {
    self.settings = settings
    self.metrics = metrics
    self.logger = logger
    self.now = now
    self.sleep = sleep
    self.onRunning = onRunning
  }

  public func run() async throws {
    let observabilities = ["catalogue", "stock", "account"].map { name in
      (name, Observability(logger: logger, metrics: metrics, layer: name))
    }
    let instruments = Dictionary(uniqueKeysWithValues: observabilities)
    let fleet = try settings.fleet.map { address in
      var configuration = FleetConfiguration()
      if let observability = instruments["catalogue"] { configuration.statusChanged = observability.fleetChanged }
      return Fleet(try ValkeyStore(address, namespace: "shop"), configuration: configuration)
    }
    let log = try settings.fleet.map { try ValkeyChangeLog($0, namespace: "shop") }
    let shop = try Shop(settings, transport: AsyncHTTPClientTransport(timeout: .seconds(5)), fleet: fleet, now: now) {
      instruments[$0]
    }
    let (readiness, active) = (Readiness(), ActiveRequests())
    let activeGauge = metrics.makeMeter(label: "gateway.requests.active", dimensions: [])
    let usersGauge = metrics.makeMeter(label: "gateway.users", dimensions: [])
    let feed = changeFeed(log)
    let prices = PriceRoutes(shop: shop, feed: feed)
    let clients = ClientRoutes(shop: shop, feed: feed, readiness: readiness, active: active)
    let admin = AdminRoutes(clients: clients, prices: prices, metrics: metrics, inspector: inspector(of: shop)) {
      activeGauge.set(Int64(active.count))
      usersGauge.set(Int64(shop.users.count))
    }

    var services: [any Service] = [
      server(.admin, admin.router, "127.0.0.1", settings.adminPort),
      server(.clients, clients.router, settings.host, settings.port),
    ]
    if let fleet {
      // Both end after the servers: the last changes are fenced, and then appended to the log.
      services.insert(Running { try await fleet.run() }, at: 0)
      services.insert(Running { await feed.run() }, at: 0)
      if let observability = instruments["catalogue"] { services.append(Running { await observability.run(fleet) }) }
    }
    for (name, layer) in [("catalogue", shop.catalogue), ("stock", shop.stock)] {
      if let observability = instruments[name] { services.append(Running { await observability.run(layer) }) }
    }
    services.append(Farewell(feed: feed))
    services.append(Drain(readiness: readiness, delay: settings.shutdownDelay, sleep: sleep))
    let group = ServiceGroup(services: services, logger: logger)
    try await withGracefulShutdownHandler {
      try await group.run()
    } onGracefulShutdown: {
      Task { await group.triggerGracefulShutdown() }
    }
  }

  private func inspector(of shop: Shop) -> Inspector? {
    settings.inspectorPassword.map { password in
      Inspector(shop.catalogue, shop.stock, password: password, isReadOnly: true)
    }
  }

  /// Clients that are told of a change need the other half of the connections to ask.
  ///
  /// - Parameter log: the history that several gateways share; `nil` for one gateway.
  private func changeFeed(_ log: ValkeyChangeLog?) -> ChangeFeed {
    var configuration = ChangeFeedConfiguration()
    configuration.clients = max(1, settings.maximumConnections / 2)
    return log.map { ChangeFeed(configuration, log: $0) } ?? ChangeFeed(configuration)
  }

  private func server<Context: RequestContext>(
    _ listener: Listener, _ router: Router<Context>, _ host: String, _ port: Int
  ) -> some Service where Context.Source == ApplicationRequestContextSource {
    Application(
      router: router,
      // A client that says nothing for a minute loses its connection.
      server: .http1(configuration: .init(idleTimeout: .seconds(60))),
      configuration: ApplicationConfiguration(
        address: .hostname(host, port: port),
        availableConnectionsDelegate: MaximumAvailableConnections(
          listener == .admin ? 64 : settings.maximumConnections, logger: logger)),
      onServerRunning: { [onRunning] channel in
        guard let port = channel.localAddress?.port, let url = URL(string: "http://\(host):\(port)") else { return }
        onRunning(listener, url)
      }, logger: logger)
  }
}

/// Work that continues until the shutdown.
private struct Running: Service {
  let body: @Sendable () async throws -> Void

  init(_ body: @escaping @Sendable () async throws -> Void) { self.body = body }

  func run() async throws {
    try await cancelWhenGracefulShutdown { try await body() }
  }
}

/// Ends the streams of changes, whose connections the server would wait for otherwise.
private struct Farewell: Service {
  let feed: ChangeFeed

  func run() async throws {
    try? await gracefulShutdown()
    feed.shutdown()
  }
}

/// Fails the health check first, and keeps the servers running until the load balancer has noticed.
private struct Drain: Service {
  let readiness: Readiness
  let delay: Duration
  let sleep: @Sendable (Duration) async throws -> Void

  func run() async throws {
    try? await gracefulShutdown()
    readiness.isReady = false
    try? await sleep(delay)
  }
}
