import Foundation
import Logging
import NewsClient
import ReactorInspector
import ServiceLifecycle
import WebReader

/// The web reader, as soon as the API has an address.
struct ReaderService: Service {
  let options: Options
  let directory: URL
  let logger: Logger
  /// The API's, where it runs in this program.
  var addresses: AsyncStream<URL>?

  func run() async throws {
    guard let api = await address() else { return }
    let switches = Switches()
    // An app would have it only in its debug builds.
    let inspector = Inspector()
    let reader = try await NewsReader(
      api: api, directory: directory, power: switches.power, offline: switches.offline, inspector: inspector)
    let page = WebReader(
      reader: reader, switches: switches, inspector: inspector, port: options.port, logger: logger
    ) { url in
      Console.say("The news reader: \(url)")
      Console.say("The inspector:   \(url)/inspector")
    }
    try await page.run()
    await reader.stop()
  }

  private func address() async -> URL? {
    guard let addresses else { return options.api }
    return await addresses.cancelOnGracefulShutdown().first { _ in true }
  }
}
