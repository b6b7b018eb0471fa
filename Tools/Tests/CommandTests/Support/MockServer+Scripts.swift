import Foundation
import ReactorTesting

extension MockServer {
  /// Starts a server that answers by path, and 404 for any other.
  static func answering(_ responses: [String: Response], port: Int = 0) throws -> MockServer {
    let server = try MockServer(port: port)
    for (path, response) in responses { server.answer(path, with: response) }
    return server
  }

  /// Starts a server that can be stopped and started again: the system never assigns its port by
  /// itself.
  static func onOwnPort(_ responses: [String: Response]) throws -> MockServer {
    while true {
      do {
        return try answering(responses, port: .random(in: 10_000..<32_000))
      } catch let error as POSIXError where error.code == .EADDRINUSE {
        continue
      }
    }
  }

  /// The host and port, as errors name them.
  var address: String { String(url.absoluteString.dropFirst("http://".count)) }

  func url(_ path: String) -> String { url.absoluteString + path }
}
