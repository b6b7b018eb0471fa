import Configuration
import CoreMetrics
import Foundation
import Logging
import ServiceLifecycle
import ShopGateway
import UnixSignals

/// `gateway`: a backend for frontends, with its settings in the environment, until SIGTERM.
@main
struct Main {
  static func main() async throws {
    let settings: GatewaySettings
    do {
      settings = try GatewaySettings(ConfigReader(provider: EnvironmentVariablesProvider()))
    } catch {
      FileHandle.standardError.write(Data("error: \(error)\n".utf8))
      exit(78)
    }
    LoggingSystem.bootstrap(StreamLogHandler.standardError)
    var logger = Logger(label: "gateway")
    logger.logLevel = Logger.Level(rawValue: settings.logLevel) ?? .info
    let metrics = PrometheusText()
    MetricsSystem.bootstrap(metrics)

    let gateway = Gateway(settings, metrics: metrics, logger: logger) { listener, url in
      FileHandle.standardOutput.write(Data("\(listener.rawValue): \(url)\n".utf8))
    }
    var configuration = ServiceGroupConfiguration(
      services: [gateway], gracefulShutdownSignals: [.sigint, .sigterm], logger: logger)
    configuration.maximumGracefulShutdownDuration = settings.shutdownDelay + .seconds(10)
    try await ServiceGroup(configuration: configuration).run()
  }
}
