#if Observability && AsyncHTTPClient
  import AsyncHTTPClient
  import Foundation
  import Logging
  import ReactorAsyncHTTPClient
  import ReactorCore
  import ReactorFleet
  import ReactorObservability

  // The Swift code of ReactorObservability.docc, which a test compares with it.

  private func makeLayer(_ api: URL, _ logger: Logger) async throws {
    let observability = Observability(logger: logger)
    var configuration = ReactorConfiguration()
    configuration.instrument = observability
    let layer = ModelLayer(baseURL: api, configuration: configuration)
    async let _ = observability.run(layer)
    try await serve(layer)
  }

  private func serve(_ layer: ModelLayer) async throws {}

  private func report(_ observability: Observability, _ layer: ModelLayer, _ fleet: Fleet) async {
    async let layers: Void = observability.run(layer)
    async let fleets: Void = observability.run(fleet)
    _ = await (layers, fleets)
  }

  private func makeFleet(_ observability: Observability) -> FleetConfiguration {
    var configuration = FleetConfiguration()
    configuration.statusChanged = observability.fleetChanged
    return configuration
  }

  private func makeFleet(
    _ observability: Observability, _ store: any FleetStore, _ configuration: FleetConfiguration
  ) -> Fleet {
    let fleet = Fleet(observability.observing(store), configuration: configuration)
    return fleet
  }

  private func makeTransport() -> AsyncHTTPClientTransport {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    configuration.tracing.tracer = nil
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let transport = AsyncHTTPClientTransport(client: client)
    return transport
  }
#endif
