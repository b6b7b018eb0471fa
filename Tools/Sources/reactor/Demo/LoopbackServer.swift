import Foundation
import Hummingbird
import Logging
import ServiceLifecycle

/// A Hummingbird server on a loopback port, for this machine only.
///
/// `MockServer` of ReactorTesting cannot stream, which the inspector's feed requires. It would also
/// link Swift Testing into `reactor`.
final class LoopbackServer: Sendable {
  private let services: ServiceGroup
  private let running: Task<Void, any Error>
  let url: URL

  /// Starts the server, and returns once it listens. Cancellation does not stop the start.
  ///
  /// - Parameter port: The port to listen on; 0 for any free port.
  static func start(_ router: Router<BasicRequestContext>, port: Int = 0) async throws -> LoopbackServer {
    let (ports, listening) = AsyncStream.makeStream(of: Int.self)
    let application = Application(
      router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { channel in
        if let number = channel.localAddress?.port { listening.yield(number) } else { listening.finish() }
      }, logger: logger)
    let services = ServiceGroup(services: [application], logger: logger)
    let running = Task {
      defer { listening.finish() }
      try await services.run()
    }
    // A task of its own: in a cancelled task, the stream would end before the port is known.
    let number = await Task { await ports.first { _ in true } }.value
    guard let number, let url = URL(string: "http://127.0.0.1:\(number)") else {
      try await running.value
      throw CancellationError()
    }
    return LoopbackServer(services: services, running: running, url: url)
  }

  private init(services: ServiceGroup, running: Task<Void, any Error>, url: URL) {
    self.services = services
    self.running = running
    self.url = url
  }

  /// Stops the server and closes its connections. Returns when the port is closed.
  func stop() async {
    // A graceful shutdown: cancellation would leave a newly accepted connection unfinished, which
    // is a trap in SwiftNIO.
    await services.triggerGracefulShutdown()
    _ = await running.result
  }

  private static var logger: Logger {
    var logger = Logger(label: "demo")
    logger.logLevel = .critical
    return logger
  }
}
