import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@Suite("A walk over entities", .timeLimit(.minutes(5)))
struct EntityWalkTests {
  /// Two lists and the details of an article, on a server whose article changes. Requests are
  /// answered in any order, with what the server had when they arrived.
  private struct Walk {
    static let paths = ["a", "b", "articles/7"]

    private final class Server: Sendable {
      let version = Mutex(0)
      let gates = Mutex<[String: Gate]>([:])

      func answer(_ path: String) -> ScriptedTransport.Answer {
        let article = Article(7, "\(version.withLock(\.self))")
        let gate = gates.withLock { $0[path] } ?? Gate(isOpen: true)
        let answer: ScriptedTransport.Answer =
          path.hasSuffix("7") ? .json(article.json, fields: EntityDesk.fresh) : EntityDesk.list([article])
        return answer.held(at: gate)
      }
    }

    private let server = Server()
    private let desk: EntityDesk
    private var running: [String: (gate: Gate, task: Task<Void, any Error>)] = [:]
    private var shown = 0
    private var random: SeededGenerator

    init(seed: UInt64) {
      random = SeededGenerator(seed: seed)
      let transport = ScriptedTransport { [server] request, _ in
        server.answer(String((request.path ?? "").dropFirst("/v1/".count)))
      }
      desk = EntityDesk(Bench(persistence: nil, transport: transport, except: [.ownSteps]))
    }

    private func titles() -> [String: Int] {
      var titles: [String: Int] = [:]
      for path in Self.paths {
        let title = path.hasSuffix("7") ? desk.title(7) : desk.titles(path)?.first
        titles[path] = title.flatMap { Int($0) }
      }
      return titles
    }

    private mutating func begin(_ path: String) async throws {
      guard running[path] == nil else { return }
      let gate = Gate()
      server.gates.withLock { $0[path] = gate }
      let task = Task { [desk] in
        if path.hasSuffix("7") {
          _ = try await desk.articles.fetchFromNetwork(Resource(path))
        } else {
          _ = try await desk.lists.fetchFromNetwork(Resource(path))
        }
      }
      try await gate.waitForArrival()
      running[path] = (gate, task)
    }

    private mutating func end(_ path: String) async throws {
      guard let (gate, task) = running.removeValue(forKey: path) else { return }
      gate.open()
      try await task.value
    }

    /// Returns the shown versions after a step.
    mutating func step() async throws -> (shown: [String: Int], before: Int) {
      let path = Self.paths.randomElement(using: &random) ?? "a"
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1: try await begin(path)
      case 2, 3: try await end(path)
      default: server.version.withLock { $0 += 1 }
      }
      let titles = titles()
      defer { shown = titles.values.max() ?? shown }
      return (titles, shown)
    }

    mutating func finish() async throws {
      for path in Self.paths { try await end(path) }
      try await desk.bench.waitUntilNothingWaits()
    }
  }

  @Test(arguments: 0..<60) func `no copy goes back, and all copies of an entity agree`(seed: Int) async throws {
    var walk = Walk(seed: UInt64(seed))
    for step in 0..<60 {
      let (shown, before) = try await walk.step()
      #expect(Set(shown.values).count <= 1, "seed \(seed), step \(step): \(shown)")
      for (path, version) in shown { #expect(version >= before, "seed \(seed), step \(step): \(path)") }
    }
    try await walk.finish()
  }
}
