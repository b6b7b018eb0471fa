import CommandSupport
import Foundation
import ReactorCore
import ReactorOutbox
import ReactorSQLite
import ReactorTesting
import Testing

/// A server, and the place of an outbox for the built command.
struct OutboxBench: Sendable {
  /// An object of `reactor outbox list --json`, which has these members and no other.
  struct Line: Decodable, Equatable {
    var id: String
    var state: String
    var reason: String?
    var lane: String
    var method: String?
    var url: String?
    var attempts: Int
    var submittedAt: Date
    var status: Int?
  }

  let server: MockServer
  let directory: URL
  /// The path of the outbox, which nothing has made yet.
  let path: String

  /// The names of an outbox of either kind.
  static let kinds = ["outbox", "outbox.sqlite"]

  /// Runs `body` with a server that answers by path, and 404 for any other.
  static func run(
    _ kind: String, _ answers: [String: MockServer.Response] = [:], _ body: (OutboxBench) async throws -> Void
  ) async throws {
    try await TemporaryDirectory.use { directory in
      let server = try MockServer.answering(answers)
      defer { server.stop() }
      try await body(
        OutboxBench(
          server: server, directory: directory, path: directory.appending(path: kind).path(percentEncoded: false)))
    }
  }

  var exists: Bool { FileManager.default.fileExists(atPath: path) }

  /// Runs `reactor send` for a path of the server.
  func send(_ target: String, _ arguments: String...) async throws -> Command.Result {
    try await Command.run(["send", server.url(target), "--outbox", path] + arguments)
  }

  /// Saves a request, and returns the id that was printed.
  func save(_ target: String, _ arguments: String...) async throws -> String {
    let result = try await Command.run(["send", server.url(target), "--outbox", path] + arguments)
    #expect(result.status == 0 && result.error == "")
    return try #require(result.output.split(separator: "\n").first.map(String.init))
  }

  /// Runs a subcommand of `reactor outbox`.
  func outbox(_ subcommand: String, _ arguments: String...) async throws -> Command.Result {
    try await Command.run(["outbox", subcommand, "--outbox", path] + arguments)
  }

  func list() async throws -> [Line] {
    let result = try await outbox("list", "--json")
    #expect(result.status == 0 && result.error == "")
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return try decoder.decode([Line].self, from: Data(result.output.utf8))
  }

  /// The requests that the server has received, as method and path.
  var received: [String] { server.requests.map { "\($0.method) \($0.target)" } }

  var keys: [String?] { server.requests.map { $0["Idempotency-Key"] } }
}

extension OutboxBench {
  /// The outbox in this process, which sends nothing by itself.
  func layer(_ configure: (inout OutboxConfiguration) -> Void = { _ in }) throws -> ModelLayer {
    var outbox = OutboxConfiguration()
    outbox.storage =
      path.hasSuffix(".sqlite")
      ? try SQLiteOutboxStorage(path: path) : FileOutboxStorage(directory: URL(filePath: path))
    outbox.sendsByItself = false
    configure(&outbox)
    return ModelLayer(baseURL: server.url, reachability: .always, extensions: [.outbox(outbox)])
  }
}
