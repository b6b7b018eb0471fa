import Foundation
import Logging
import NewsAPI
import NewsClient
import ReactorChangeFeed
import ReactorCore
import ServiceLifecycle
import Synchronization

/// The API on a free port, and a reader of it with a store in a separate directory.
struct RunningNews {
  let api: URL
  let directory: URL
  let clock: WallClock
  let reader: NewsReader

  /// Both are gone when it returns.
  ///
  /// - Parameters:
  ///   - state: the directory of the API's state; `nil` for only memory.
  ///   - changes: the limits of the streams of changes.
  ///   - sleep: the latency of the API.
  static func use(
    state: URL? = nil, changes: ChangeFeedConfiguration = ChangeFeedConfiguration(),
    sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in },
    _ body: (RunningNews) async throws -> Void
  ) async throws {
    try await withDirectory { directory in
      let clock = WallClock()
      let (addresses, address) = AsyncStream.makeStream(of: URL.self)
      let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      let server = try NewsServer(directory: state, changes: changes, logger: logger, now: { clock.now }, sleep: sleep)
      {
        address.yield($0)
      }
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
  }

  /// Publishes a story, as an editor does.
  func publish(_ title: String) async throws {
    try await edit(.post, "/admin/articles", title)
  }

  /// Corrects a story, as an editor does.
  func correct(_ id: Int, title: String) async throws {
    try await edit(.patch, "/admin/articles/\(id)", title)
  }

  private func edit(_ method: HTTPRequest.Method, _ path: String, _ title: String) async throws {
    guard try await ask(method, path, ["title": title]).status == 200 else { throw URLError(.badServerResponse) }
  }

  /// A directory that is removed when it returns.
  static func withDirectory(_ body: (URL) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "newsroom-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory)
  }

  /// Returns true if any file of the store holds these bytes.
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

/// An answer of the API.
struct Answer {
  var status: Int
  var fields: HTTPFields
  var body: Data

  /// The reason of a refusal.
  var reason: String? { error.serverMessage }

  /// The answer as the error that a layer throws.
  var error: ReactorError {
    .server(HTTPResponse(status: .init(code: status), headerFields: fields), body: body)
  }

  func value<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return try decoder.decode(type, from: body)
  }
}

/// The API, as a client sees it that caches and repeats nothing.
extension RunningNews {
  /// - Parameters:
  ///   - token: the caller's access token.
  ///   - key: the idempotency key.
  func ask(
    _ method: HTTPRequest.Method, _ path: String, by token: String? = nil, key: String? = nil, tag: String? = nil,
    _ body: [String: String]? = nil
  ) async throws -> Answer {
    var request = HTTPRequest(
      method: method, scheme: api.scheme, authority: api.port.map { "127.0.0.1:\($0)" }, path: path)
    request.headerFields[.contentType] = "application/json"
    if let token { request.headerFields[.authorization] = "Bearer \(token)" }
    if let tag { request.headerFields[.ifNoneMatch] = tag }
    if let key, let name = HTTPField.Name("Idempotency-Key") { request.headerFields[name] = key }
    let (response, data) = try await Backend(baseURL: api).send(request, body: body.map(JSONEncoder().encode))
    return Answer(status: response.status.code, fields: response.headerFields, body: data)
  }

  /// Signs in, and returns the access token.
  func token(of name: String) async throws -> String {
    struct Session: Decodable { var access: String }
    return try await ask(.post, "/session", ["name": name, "password": "reactor"]).value(Session.self).access
  }

  /// The requests that the API received, as `PUT /reading-list/3 200`.
  var requests: [String] {
    get async throws {
      struct Request: Decodable { var method: String, path: String, status: Int }
      return try await ask(.get, "/admin/requests").value([Request].self).map { "\($0.method) \($0.path) \($0.status)" }
    }
  }

  /// The texts of an article's comments.
  func texts(of article: Int) async throws -> [String] {
    try await ask(.get, "/articles/\(article)/comments").value([Comment].self).map(\.text)
  }
}
