import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@Suite("A walk over entities", .timeLimit(.minutes(5)))
struct EntityWalkTests {
  /// Two lists and the details of an article, on a server whose article changes, by itself and by
  /// writes. Requests are answered in any order, with what the server had when they arrived.
  private struct Walk {
    static let paths = ["a", "b", "articles/7"]
    static let write = "write"

    private final class Server: Sendable {
      let version = Mutex(0)
      let gates = Mutex<[String: Gate]>([:])

      func answer(_ path: String, isWrite: Bool) -> ScriptedTransport.Answer {
        let version = version.withLock { version in
          if isWrite { version += 1 }
          return version
        }
        let article = Article(7, "\(version)")
        let gate = gates.withLock { $0[isWrite ? Walk.write : path] } ?? Gate(isOpen: true)
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
    /// It keeps one list in memory, so that nothing is forgotten with the last copy.
    private var watched: LoadStates<[Article]>.Iterator?

    init(seed: UInt64, _ persistence: (any Persistence)? = nil) {
      random = SeededGenerator(seed: seed)
      let transport = ScriptedTransport { [server] request, _ in
        server.answer(String((request.path ?? "").dropFirst("/v1/".count)), isWrite: request.method == .put)
      }
      desk = EntityDesk(Bench(persistence: persistence, transport: transport, except: [.ownSteps]))
    }

    /// Loads the list that stays in memory.
    mutating func watch() async throws {
      _ = try await desk.lists.fetch("b")
      watched = desk.lists.states(for: "b", policy: .cacheOnly).makeAsyncIterator()
      _ = await watched?.next()
    }

    private func titles() -> [String: Int] {
      var titles: [String: Int] = [:]
      for path in Self.paths {
        let title = path.hasSuffix("7") ? desk.title(7) : desk.titles(path)?.first
        titles[path] = title.flatMap { Int($0) }
      }
      return titles
    }

    private static func fetch(_ path: String, _ policy: FetchPolicy, _ desk: EntityDesk) async throws {
      if path == write {
        _ = try await desk.articles.send(Resource("articles/7", method: .put))
      } else if path.hasSuffix("7") {
        _ = try await desk.articles.fetch(Resource(path), policy: policy)
      } else {
        _ = try await desk.lists.fetch(Resource(path), policy: policy)
      }
    }

    private mutating func begin(_ path: String) async throws {
      guard running[path] == nil else { return }
      let gate = Gate()
      server.gates.withLock { $0[path] = gate }
      let task = Task { [desk] in try await Self.fetch(path, .networkOnly, desk) }
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
      return shownNow()
    }

    /// Returns the shown versions after a step with writes, evictions, loads and a clock that is
    /// set.
    mutating func storedStep() async throws -> (shown: [String: Int], before: Int) {
      let path = (Self.paths + [Self.write]).randomElement(using: &random) ?? "a"
      switch Int.random(in: 0..<9, using: &random) {
      case 0, 1: try await begin(path)
      case 2, 3: try await end(path)
      case 4: desk.bench.layer.evictUnused()
      // Whatever the disk has, if it has anything.
      case 5, 6: if path != Self.write { try? await Self.fetch(path, .cacheOnly, desk) }
      case 7: desk.bench.clock.setWallClock(back: .seconds(Int.random(in: 0..<120, using: &random)))
      default: desk.bench.clock.advance(by: .seconds(Int.random(in: 0..<60, using: &random)))
      }
      return shownNow()
    }

    private mutating func shownNow() -> (shown: [String: Int], before: Int) {
      let titles = titles()
      defer { shown = titles.values.max() ?? shown }
      return (titles, shown)
    }

    mutating func finish() async throws {
      for path in Self.paths + [Self.write] { try await end(path) }
      watched = nil
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

  @Test(arguments: 0..<60)
  func `copies agree with writes, evictions, records on disk and a clock that is set, too`(seed: Int) async throws {
    var walk = Walk(seed: UInt64(seed), MemoryPersistence())
    try await walk.watch()
    for step in 0..<80 {
      let (shown, before) = try await walk.storedStep()
      #expect(Set(shown.values).count <= 1, "seed \(seed), step \(step): \(shown)")
      for (path, version) in shown { #expect(version >= before, "seed \(seed), step \(step): \(path)") }
    }
    try await walk.finish()
  }
}
