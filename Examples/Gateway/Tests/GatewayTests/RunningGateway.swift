import Configuration
import Foundation
import HTTPTypes
import Logging
import ReactorAsyncHTTPClient
import ReactorCore
import ServiceLifecycle
import ShopAPIs
import ShopGateway
import Synchronization

/// A gateway and its three APIs on free ports.
struct RunningGateway: Sendable {
  let clients: URL
  let admin: URL
  /// The dials of the APIs.
  let shop: [ShopAPI: ShopDials]
  let clock: WallClock
  /// The settings with the addresses of the APIs.
  let apis: [String: String]
  /// The gateway and the APIs.
  let services: ServiceGroup

  /// All are gone when it returns.
  ///
  /// - Parameters:
  ///   - environment: the gateway's. It may have the addresses of another's APIs.
  ///   - sleep: waits between the beginning of the shutdown and its end.
  static func use(
    _ environment: [String: String] = [:], sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in },
    _ body: (RunningGateway) async throws -> Void
  ) async throws {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let dials = Dictionary(uniqueKeysWithValues: ShopAPI.allCases.map { ($0, ShopDials()) })
    let (running, isRunning) = AsyncStream.makeStream(of: (ShopAPI, URL).self)
    let apis = dials.map { api, dials in
      ShopServer(api, dials: dials, logger: logger) { isRunning.yield((api, $0)) }
    }
    try await Self.run(apis, logger) { _ in
      var variables = environment.merging(["HTTP_PORT": "0", "ADMIN_PORT": "0"]) { $1 }
      for await (api, url) in running.prefix(3) {
        let name = "\(api.rawValue.uppercased())_URL"
        variables[name] = variables[name] ?? url.absoluteString
      }
      let apis = variables.filter { $0.key.hasSuffix("_URL") }
      let settings = try GatewaySettings(
        ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: variables)))

      let clock = WallClock()
      let (listening, isListening) = AsyncStream.makeStream(of: (Gateway.Listener, URL).self)
      let gateway = Gateway(settings, metrics: PrometheusText(), logger: logger, now: { clock.now }, sleep: sleep) {
        isListening.yield(($0, $1))
      }
      try await Self.run([gateway], logger) { services in
        var urls: [Gateway.Listener: URL] = [:]
        for await (listener, url) in listening.prefix(2) { urls[listener] = url }
        guard let clients = urls[.clients], let admin = urls[.admin] else { throw URLError(.cannotConnectToHost) }
        try await body(
          RunningGateway(
            clients: clients, admin: admin, shop: dials, clock: clock, apis: apis, services: services))
      }
    }
  }

  private static func run(
    _ services: [any Service], _ logger: Logger, _ body: (ServiceGroup) async throws -> Void
  ) async throws {
    let group = ServiceGroup(services: services, logger: logger)
    let running = Task { try await group.run() }
    let result: Result<Void, any Error>
    do { result = .success(try await body(group)) } catch { result = .failure(error) }
    await group.triggerGracefulShutdown()
    try await running.value
    try result.get()
  }

  /// Sends a request as a client does that caches and repeats nothing.
  ///
  /// - Parameter authorization: the field of this name.
  func ask(
    _ method: HTTPRequest.Method = .get, _ path: String, authorization: String? = nil, admin isAdmin: Bool = false,
    body: String? = nil
  ) async throws -> Answer {
    let url = isAdmin ? admin : clients
    var request = HTTPRequest(
      method: method, scheme: "http", authority: "127.0.0.1:\(url.port ?? 0)", path: path)
    request.headerFields[.authorization] = authorization
    if body != nil { request.headerFields[.contentType] = "application/json" }
    let (response, data) = try await AsyncHTTPClientTransport().send(request, body: body.map { Data($0.utf8) }) { _ in }
    return Answer(
      status: response.status.code, fields: response.headerFields, text: String(decoding: data, as: UTF8.self))
  }

  /// The page of a product, for a user.
  func page(_ id: Int, _ user: String? = nil) async throws -> Answer {
    try await ask(.get, "/products/\(id)", authorization: user.map { "Bearer user-\($0)" })
  }
}

struct Answer {
  var status: Int
  var fields: HTTPFields
  var text: String

  var cacheStatus: String? { HTTPField.Name("Cache-Status").flatMap { fields[$0] } }
}

/// The time of the gateway's caches, which stands unless a test moves it.
final class WallClock: Sendable {
  private let time = Mutex(Date())

  var now: Date { time.withLock(\.self) }

  func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }
}
