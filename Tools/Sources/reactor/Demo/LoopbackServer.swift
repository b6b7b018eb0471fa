import Foundation
import Hummingbird
import Logging
import ServiceLifecycle

/// A router's routes on a port of this machine, for nobody else.
///
/// ReactorTesting's `MockServer` has no streams, which the inspector's feed needs, and would link Swift Testing into `reactor`.
final class LoopbackServer: Sendable {
  private let services: ServiceGroup
  private let running: Task<Void, any Error>
  let url: URL

  /// Starts the server; returns once it listens, in a cancelled task too.
  ///
  /// - Parameter port: where it listens; 0 is any that is free.
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
    // In a task of its own: in one that is cancelled, the stream would end before there is a port.
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

  /// Ends the server and its connections; returns when nothing listens any more.
  func stop() async {
    // Not by cancelling: a connection that has just been accepted would be let go unfinished, which SwiftNIO traps on.
    await services.triggerGracefulShutdown()
    _ = await running.result
  }

  private static var logger: Logger {
    var logger = Logger(label: "demo")
    logger.logLevel = .critical
    return logger
  }
}
