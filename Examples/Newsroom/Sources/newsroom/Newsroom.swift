import Foundation
import Logging
import NewsAPI
import NewsClient
import ServiceLifecycle
import UnixSignals
import WebReader

/// `newsroom`: the news API and the web reader, on this machine, until Ctrl-C or SIGTERM.
@main
struct Newsroom {
  static func main() async throws {
    let options: Options
    do {
      options = try Options(CommandLine.arguments.dropFirst())
    } catch {
      print(Options.help)
      exit(error.exitStatus)
    }
    var logger = Logger(label: "newsroom")
    logger.logLevel = .error
    try await Directory.use(options.store) { directory in
      var configuration = ServiceGroupConfiguration(
        services: try services(options, directory, logger), gracefulShutdownSignals: [.sigint, .sigterm], logger: logger
      )
      configuration.maximumGracefulShutdownDuration = .seconds(5)
      try await ServiceGroup(configuration: configuration).run()
    }
  }

  private static func services(_ options: Options, _ directory: URL, _ logger: Logger) throws -> [any Service] {
    let reader = { (addresses: AsyncStream<URL>?) in
      ReaderService(
        options: options, directory: try Directory.part("reader", of: directory), logger: logger, addresses: addresses)
    }
    guard options.api == nil else { return [try reader(nil)] }
    let (addresses, address) = AsyncStream.makeStream(of: URL.self)
    let server = try NewsServer(
      port: options.apiPort, directory: Directory.part("api", of: directory), tokenLifetime: options.tokenLifetime,
      logger: logger
    ) { url in
      Console.say("The news API:    \(url)")
      Console.say("The news desk:   \(url)/desk")
      address.yield(url)
      address.finish()
    }
    guard options.hasReader else { return [server] }
    return [server, try reader(addresses)]
  }
}
