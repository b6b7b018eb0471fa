public import Foundation
import Hummingbird
public import Logging
import NIOCore
public import NewsClient
public import ReactorInspector
public import ServiceLifecycle

/// A news reader whose screens are pages of a browser, and whose model layer is here.
///
/// It serves one person, as an app does: signing in affects every window.
public struct WebReader: Service {
  private let reader: NewsReader
  private let switches: Switches
  private let inspector: Inspector?
  private let port: Int
  private let logger: Logger
  private let onRunning: @Sendable (URL) -> Void

  /// - Parameters:
  ///   - switches: those of `reader`, for the page to turn.
  ///   - inspector: stands at `/inspector`.
  ///   - port: 0: a free one.
  ///   - onRunning: is called once, when the server listens.
  public init(
    reader: NewsReader, switches: Switches, inspector: Inspector? = nil, port: Int = 0, logger: Logger,
    onRunning: @escaping @Sendable (URL) -> Void
  ) {
    self.reader = reader
    self.switches = switches
    self.inspector = inspector
    self.port = port
    self.logger = logger
    self.onRunning = onRunning
  }

  public func run() async throws {
    let application = Application(
      router: try router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { channel in
        guard let port = channel.localAddress?.port, let url = URL(string: "http://127.0.0.1:\(port)") else { return }
        onRunning(url)
      }, logger: logger)
    try await application.run()
  }

  private var router: Router<BasicRequestContext> {
    get throws {
      let router = Router()
      router.add(middleware: SameOrigin())
      try PageFiles().add(to: router)
      let windows = Windows()
      FeedRoute(reader: reader, switches: switches, windows: windows).add(to: router)
      Commands(reader: reader, switches: switches, windows: windows).add(to: router.group("commands"))
      if let inspector { InspectorRoutes(inspector: inspector).add(to: router) }
      return router
    }
  }
}
