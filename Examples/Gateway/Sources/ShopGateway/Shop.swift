public import Foundation
public import ReactorCore
public import ReactorFleet
import ReactorMiddleware
import ReactorSQLite

/// A product of the catalogue.
struct Product: Codable, Sendable, Hashable {
  var id: Int
  var name: String
  var cents: Int
  var about: String
}

/// The stock of a product.
struct Stock: Codable, Sendable, Hashable {
  var id: Int
  var available: Int
}

/// A user's account.
struct Account: Codable, Sendable, Hashable {
  var name: String
  var discountPercent: Int
}

/// The upstream APIs as the gateway sees them: a layer for the public responses of each, and a
/// layer for each user.
public final class Shop: Sendable {
  public let catalogue: ModelLayer
  public let stock: ModelLayer
  let users: Users
  let products: Reactor<Product>
  let stocks: Reactor<Stock>

  /// - Parameters:
  ///   - transport: the one of all layers.
  ///   - now: the time of the caches.
  ///   - instrument: returns the instrument of a layer, by its name.
  /// - Throws: an error of the store.
  public init(
    _ settings: GatewaySettings, transport: any Transport, fleet: Fleet? = nil,
    now: @escaping @Sendable () -> Date = { Date() },
    instrument: (String) -> (any ModelLayer.Instrument)? = { _ in nil }
  ) throws {
    // One file for all layers with public responses.
    let persistence = try settings.store.map { directory in
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      return try SQLitePersistence(path: directory.appending(path: "shop.sqlite").path)
    }
    func layer(_ name: String, _ url: URL) -> ModelLayer {
      var configuration = Self.configuration
      configuration.now = now
      configuration.instrument = instrument(name)
      let backend = Backend(baseURL: url, transport: transport, reachability: .always)
      return ModelLayer(
        backend: backend, persistence: persistence, configuration: configuration,
        extensions: fleet.map { [.fleet($0)] } ?? [])
    }
    catalogue = layer("catalogue", settings.catalogue)
    stock = layer("stock", settings.stock)
    products = catalogue.reactor(Product.self)
    stocks = stock.reactor(Stock.self)

    var configuration = Self.configuration
    configuration.now = now
    configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: 20, bytes: 1 << 20)
    configuration.instrument = instrument("account")
    let account = settings.account
    users = Users(limit: settings.maximumUsers) { [configuration] token, number in
      // Only in memory, and with no scope that another user could have.
      let backend = Backend(
        baseURL: account, transport: transport, authentication: BearerToken(token, origins: [account]),
        reachability: .always)
      return ModelLayer(backend: backend, scope: Scope("user \(number)"), configuration: configuration)
    }
  }

  /// Changes the price of a product in the catalogue. What is cached of the product becomes stale.
  func setPrice(_ cents: Int, of id: Int) async throws -> Product {
    let change = try Resource("products/\(id)", method: .patch, json: ["cents": cents])
    return try await products.send(change)
  }

  /// A client waits for each answer, so a slow response gets its stale fallback after 200 ms, and
  /// without one the request fails after a second.
  private static var configuration: ReactorConfiguration {
    var configuration = ReactorConfiguration()
    configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: 10_000, bytes: 64 << 20)
    configuration.staleIfError = .seconds(3_600)
    configuration.staleAfter = .milliseconds(200)
    configuration.retry = RetryPolicy(attempts: 2, firstDelay: .milliseconds(50))
    configuration.retry.longestRetryAfter = .milliseconds(200)
    return configuration
  }

  static func resource(_ path: String) -> Resource {
    var resource = Resource(path)
    resource.timeout = .milliseconds(450)
    return resource
  }
}
