#if SQLite
  import Foundation
  import HTTPTypes
  import ReactorCore
  import ReactorOutbox
  import ReactorSQLite
  import ReactorTesting
  import Synchronization
  import TestSupport
  import Testing

  /// Counts how often all entries of a store are read.
  private final class Counted: OutboxStorage {
    private let base: SQLiteOutboxStorage
    private let count = Atomic(0)

    init(_ base: SQLiteOutboxStorage) { self.base = base }

    var reads: Int { count.load(ordering: .relaxed) }

    func contents(of scope: Scope) async throws -> OutboxContents {
      count.add(1, ordering: .relaxed)
      return try await base.contents(of: scope)
    }
    func mayHaveEntries(in scope: Scope, after: UInt64, before: UInt64) async throws -> Bool {
      try await base.mayHaveEntries(in: scope, after: after, before: before)
    }
    func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
      try await base.commit(changes, in: scope)
    }
    func claim(_ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date) async throws -> StoredEntry? {
      try await base.claim(id, in: scope, by: process, now: now, until: until)
    }
    func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
      try await base.release(id, in: scope, by: process)
    }
    func removeAll(in scope: Scope?) async throws { try await base.removeAll(in: scope) }
  }

  @Suite("Scopes that share a database of an outbox", .timeLimit(.minutes(2)))
  struct SQLiteOutboxScopeTests {
    @Test func `submit in turns without reading the store for each other's entries`() async throws {
      try await withOutbox { path in
        let storage = Counted(try SQLiteOutboxStorage(path: path))
        let transport = ScriptedTransport { _, _ in .response(.noContent) }
        let url = Bench.url.appending(path: "posts")
        let layers = ["one", "two"].map { scope in
          ModelLayer(
            baseURL: Bench.url, transport: transport, reachability: .always, scope: Scope(scope),
            extensions: [.outbox(OutboxConfiguration(storage: storage, mutations: []))])
        }
        for layer in layers { try await layer.outbox.reload() }
        let start = storage.reads
        for index in 0..<20 {
          _ = try await layers[index % 2].submit(OutboxRequest(url: url, body: Data("\(index)".utf8))).answer()
        }
        #expect(storage.reads == start)
        #expect(transport.requestCount == 20)
      }
    }

    @Test func `find their own entries between two numbers, and no others`() async throws {
      try await withOutbox { path in
        let storage = try SQLiteOutboxStorage(path: path)
        var numbers: [UInt64] = []
        for scope in ["one", "two", "one", "two"] {
          numbers += try await storage.commit([.add(entry("e"))], in: Scope(scope))
        }
        #expect(try await storage.mayHaveEntries(in: Scope("one"), after: numbers[1], before: numbers[3]))
        #expect(try await !storage.mayHaveEntries(in: Scope("one"), after: numbers[0], before: numbers[2]))
        #expect(try await !storage.mayHaveEntries(in: Scope("one"), after: numbers[2], before: .max))
      }
    }
  }
#endif
