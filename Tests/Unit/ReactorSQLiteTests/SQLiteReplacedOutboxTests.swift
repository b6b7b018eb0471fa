#if SQLite
  import Foundation
  import HTTPTypes
  import ReactorCore
  import ReactorOutbox
  import ReactorTesting
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  private struct Write: Mutation {
    var name: String

    func request(_ known: Known) throws -> Resource { Resource(name, method: .post) }

    func draft(_ drafts: inout Drafts) {}
  }

  /// A program whose outbox is in a database.
  private struct Program {
    let bench = Bench()
    let layer: ModelLayer
    let log: EventRecorder

    init(_ path: String) throws {
      var configuration = ReactorConfiguration()
      configuration.clock = bench.clock
      configuration.now = bench.clock.wallClock
      configuration.retry = .never
      let outbox = OutboxConfiguration(storage: try SQLiteOutboxStorage(path: path), mutations: [Write.self])
      layer = ModelLayer(
        baseURL: Bench.url, transport: bench.transport, persistence: nil, reachability: bench.reachability,
        configuration: configuration, extensions: [.outbox(outbox)])
      log = EventRecorder(layer, except: [.ownSteps])
      for name in ["a", "b", "c"] { bench.transport.answer("/v1/\(name)", with: .response(.noContent)) }
    }

    /// The paths of the requests that were sent.
    var sent: [String] { bench.transport.requests.map(\.path) }
  }

  @Suite("A database that is removed under a running program", .timeLimit(.minutes(1)))
  struct SQLiteReplacedOutboxTests {
    @Test func `waiting entries are saved again when the database is deleted, and sent in order, once`() async throws {
      try await withOutbox { path in
        let program = try Program(path)
        try await program.layer.outbox.reload()
        program.bench.reachability.set(false)
        let first = try await program.layer.submit(Write(name: "a"))
        let second = try await program.layer.submit(Write(name: "b"))
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        let third = try await program.layer.submit(Write(name: "c"))
        try await program.layer.outbox.reload()
        let stored = try await SQLiteOutboxStorage(path: path).contents(of: .shared).entries.map(\.id)
        #expect(stored == [first.id, second.id, third.id])
        program.bench.reachability.set(true)
        for submission in [first, second, third] { try await submission.answer() }
        #expect(program.sent == ["/v1/a", "/v1/b", "/v1/c"])
        await program.layer.flushEvents()
        let reports = program.log.events.filter { if case .outbox(_, .storeFailed) = $0.kind { true } else { false } }
        #expect(reports.map { "\($0)" }.filter { $0.contains("the 2 entries in memory were saved again") }.count == 1)
        #expect(reports.count == 1)
      }
    }

    @Test func `entries that another process removes do not come back`() async throws {
      try await withOutbox { path in
        let program = try Program(path)
        try await program.layer.outbox.reload()
        program.bench.reachability.set(false)
        try await program.layer.submit(Write(name: "a"))
        let other = try SQLiteOutboxStorage(path: path)
        try await other.removeAll(in: nil)
        _ = try await other.commit([.identify("a", Data("1".utf8))], in: .shared)
        try await program.layer.outbox.reload()
        #expect(program.layer.outbox.entries.isEmpty && program.sent.isEmpty)
      }
    }

    @Test func `a database that was damaged keeps its identity, and a new one has another`() async throws {
      try await withOutbox { path in
        let storage = try SQLiteOutboxStorage(path: path)
        _ = try await storage.commit((0..<300).map { .add(entry("\($0)")) }, in: .shared)
        let first = try #require(try await storage.contents(of: .shared).identity)
        try checkpoint(path)
        try overwrite(path, at: try size(path) - 4_096, with: Data(repeating: 0xA5, count: 4_096))
        let contents = try await SQLiteOutboxStorage(path: path).contents(of: .shared)
        #expect(contents.setAside.count == 1 && contents.identity == first)
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        let second = try await storage.contents(of: .shared).identity
        #expect(second != nil && second != first)
      }
    }

    @Test func `a file of the second schema gets an identity`() async throws {
      try await withOutbox { path in
        _ = try await SQLiteOutboxStorage(path: path).commit([.add(entry("old"))], in: .shared)
        try change(path, "DROP TABLE outbox_store; DELETE FROM grdb_migrations WHERE identifier = 'outbox-3'")
        let contents = try await SQLiteOutboxStorage(path: path).contents(of: .shared)
        #expect(contents.texts == ["old"] && contents.identity != nil)
        #expect(try await SQLiteOutboxStorage(path: path).contents(of: .shared).identity == contents.identity)
      }
    }
  }
#endif
