import Foundation
import Logging
import NewsAPI
import NewsClient
import ReactorCore
import ServiceLifecycle
import Synchronization

/// The API on a free port, and a reader of it with a store in a directory of its own.
struct RunningNews {
  let api: URL
  let directory: URL
  let clock: WallClock
  let reader: NewsReader

  /// Both are gone when it returns.
  static func use(_ body: (RunningNews) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "newsroom-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    let (addresses, address) = AsyncStream.makeStream(of: URL.self)
    let clock = WallClock()
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let server = NewsServer(logger: logger, now: { clock.now }) { address.yield($0) }
    let services = ServiceGroup(services: [server], logger: logger)
    let running = Task {
      defer { address.finish() }
      try await services.run()
    }
    let result: Result<Void, any Error>
    do {
      for await api in addresses {
        let reader = try await NewsReader(api: api, directory: directory)
        try await body(RunningNews(api: api, directory: directory, clock: clock, reader: reader))
        break
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await services.triggerGracefulShutdown()
    try await running.value
    try result.get()
  }

  /// What the API was asked, as `PUT /reading-list/3 200`.
  var requests: [String] {
    get async throws {
      struct Request: Codable {
        var method: String, path: String, status: Int
      }
      let log = ModelLayer(baseURL: api).reactor([Request].self)
      return try await log.fetchFromNetwork("admin/requests").map { "\($0.method) \($0.path) \($0.status)" }
    }
  }

  /// Whether any file of the store holds these bytes.
  func storeHolds(_ text: String) throws -> Bool {
    try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
      .contains { try Data(contentsOf: $0).range(of: Data(text.utf8)) != nil }
  }
}

/// The API's clock, which a test moves.
final class WallClock: Sendable {
  private let offset = Mutex<TimeInterval>(0)

  var now: Date { Date() + offset.withLock { $0 } }

  func advance(by seconds: TimeInterval) { offset.withLock { $0 += seconds } }
}
