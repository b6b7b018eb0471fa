import Foundation
import Logging
import ServiceLifecycle
import ShopAPIs
import UnixSignals

/// `shop [--port N]`: the catalogue, the stock and the accounts on three ports from N, until Ctrl-C
/// or SIGTERM. The default is 8091.
@main
struct Shop {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    var first = 8091
    if !arguments.isEmpty {
      guard arguments.count == 2, arguments.first == "--port", let port = arguments.last.flatMap(UInt16.init) else {
        FileHandle.standardError.write(Data("usage: shop [--port N]\n".utf8))
        exit(64)
      }
      first = Int(port)
    }
    var logger = Logger(label: "shop")
    logger.logLevel = .error
    let servers = ShopAPI.allCases.enumerated().map { index, api in
      ShopServer(api, port: first == 0 ? 0 : first + index, logger: logger) { url in
        FileHandle.standardOutput.write(Data("\(api.rawValue): \(url)\n".utf8))
      }
    }
    let group = ServiceGroup(
      services: servers, gracefulShutdownSignals: [.sigint, .sigterm], logger: logger)
    try await group.run()
  }
}
