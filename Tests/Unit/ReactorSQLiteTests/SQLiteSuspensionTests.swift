#if SQLite
  import Dispatch
  import Foundation
  import GRDB
  import ReactorCore
  import ReactorOutbox
  import ReactorTesting
  import Synchronization
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite(.timeLimit(.minutes(1))) struct `An SQLite store that is suspended` {
    private let key = RecordKey.sample()
    private let later = Date(timeIntervalSinceReferenceDate: 9)

    @Test func `a suspended store refuses every access until it resumes, and has lost nothing`() async throws {
      try await withDatabase { path in
        let persistence = try SQLitePersistence(path: path)
        try await persistence.save(.sample(key), for: key)
        persistence.suspend()
        persistence.suspend()
        for attempt in [
          { [key] in _ = try await persistence.load(key) },
          { [key, later] in try await persistence.save(.sample(key, at: later), for: key) },
          { [key] in try await persistence.remove(key) },
          { try await persistence.removeAll(in: nil) },
          { _ = try await persistence.entries(in: nil, url: nil) },
          { try await persistence.compact() },
          { _ = try await persistence.verify() },
        ] as [@Sendable () async throws -> Void] {
          await #expect(throws: SQLitePersistenceError.suspended(path: path)) { try await attempt() }
        }
        persistence.resume()
        #expect(try await persistence.load(key) == .sample(key))
        try await persistence.save(.sample(key, at: later), for: key)
        #expect(try await persistence.load(key) == .sample(key, at: later))
      }
    }

    @Test func `an outbox's store refuses them too, and says what to do`() async throws {
      try await withOutbox { path in
        let (storage, id) = (try SQLiteOutboxStorage(path: path), UUID())
        _ = try await storage.commit([.add(entry("one", id: id))], in: .shared)
        storage.suspend()
        for attempt in [
          { _ = try await storage.contents(of: .shared) },
          { _ = try await storage.commit([.remove(id)], in: .shared) },
          { _ = try await storage.claim(id, in: .shared, by: UUID(), now: Date(), until: Date()) },
          { try await storage.release(id, in: .shared, by: UUID()) },
          { try await storage.removeAll(in: nil) },
        ] as [@Sendable () async throws -> Void] {
          let error = await #expect(throws: SQLitePersistenceError.self) { try await attempt() }
          #expect(error?.description == "the store at \(path) is suspended; call resume() before using it")
        }
        storage.resume()
        #expect(try await storage.contents(of: .shared).texts == ["one"])
      }
    }

    @Test func `a layer asks the server meanwhile`() async throws {
      try await withDatabase { path in
        let persistence = try SQLitePersistence(path: path)
        let layer = ModelLayer(
          baseURL: try #require(URL(string: "http://localhost/v1")),
          transport: ScriptedTransport { _, _ in .json(#"["fresh"]"#) }, persistence: persistence)
        persistence.suspend()
        #expect(try await layer.reactor([String].self).fetch("greetings") == ["fresh"])
        persistence.resume()
        #expect(try await persistence.entries(in: nil, url: nil).isEmpty)
      }
    }

    @Test func `suspending a store waits for the access under way`() async {
      let events = Mutex<[String]>([])
      let refuses = DispatchSemaphore(value: 0)
      let accesses = SQLiteAccesses("records.sqlite", patience: .seconds(1)) { refuses.signal() }
      await onThread {
        try? accesses.run {
          let suspending = DispatchGroup()
          suspending.enter()
          Thread.detachNewThread {
            accesses.suspend {}
            events.withLock { $0.append("suspended") }
            suspending.leave()
          }
          refuses.wait()
          #expect(throws: SQLitePersistenceError.self) { try accesses.run {} }
          // Until it has ended, or for a tenth of the time after which it interrupts.
          _ = suspending.wait(timeout: .now() + 0.1)
          events.withLock { $0.append("ended") }
        }
        accesses.suspend {}
      }
      #expect(events.withLock(\.first) == "ended")
    }

    @Test func `suspending a store interrupts a long access`() async throws {
      try await withDatabase { path in
        let persistence = try SQLitePersistence(path: path)
        let slow =
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000000) SELECT max(i) FROM n"
        let began = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          began.wait()
          persistence.suspend()
        }
        let error = await onThread {
          #expect(throws: SQLitePersistenceError.self) {
            try persistence.outward(.compact) {
              try persistence.database.write { db in
                try db.execute(sql: "DELETE FROM reactor_record")
                began.signal()
                try db.execute(sql: slow)
              }
            }
          }
        }
        #expect(error == .sqlite(.compact, path: path, code: 9, message: "interrupted"))
      }
    }

    @Test func `suspending a store interrupts until the access has ended`() async {
      let accesses = SQLiteAccesses("records.sqlite", patience: .milliseconds(10))
      let interrupts = DispatchSemaphore(value: 0)
      let isInterrupted = await onThread {
        let began = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          began.wait()
          accesses.suspend { interrupts.signal() }
        }
        return try? accesses.run {
          began.signal()
          return (1...3).allSatisfy { _ in interrupts.wait(timeout: .now() + 10) == .success }
        }
      }
      #expect(isInterrupted == true)
    }

    /// Suspends a store in the middle of a removal: at the lock of the databases that were set
    /// aside.
    private final class Midway: Sendable {
      private let suspension = Mutex<(@Sendable () -> Void)?>(nil)
      let hasSuspended = DispatchSemaphore(value: 0)
      private let refuses = DispatchSemaphore(value: 0)

      var system: SQLiteSystem {
        var system = SQLiteSystem()
        // However busy the machine is.
        system.patience = .seconds(60)
        system.refuses = { [refuses] in refuses.signal() }
        system.fault = { [self] call, _ in
          if call == .lock { suspension.withLock { $0.take() }?() }
          return nil
        }
        return system
      }

      /// - Parameter access: an access, which throws once the store is suspended.
      func arm(_ suspend: @escaping @Sendable () -> Void, until access: @escaping @Sendable () throws -> Void) {
        suspension.withLock { [hasSuspended, refuses] suspension in
          suspension = {
            Thread.detachNewThread {
              suspend()
              hasSuspended.signal()
            }
            refuses.wait()
            #expect(throws: SQLitePersistenceError.self) { try access() }
          }
        }
      }
    }

    @Test func `a removal of everything is one access, which is over before it is suspended`() async throws {
      try await withDatabase { path in
        let midway = Midway()
        let persistence = try SQLitePersistence(path: path, system: midway.system, now: { Date() })
        let secret = "s3cret"
        try await persistence.save(.sample(key, secret), for: key)
        midway.arm {
          persistence.suspend()
        } until: {
          try persistence.database.read(.list, at: Date()) { _ in }
        }
        try await persistence.removeAll(in: nil)
        await onThread { midway.hasSuspended.wait() }
        await #expect(throws: SQLitePersistenceError.suspended(path: path)) {
          try await persistence.removeAll(in: nil)
        }
        for file in try neighbours(path) {
          let bytes = try Data(contentsOf: URL(filePath: path).deletingLastPathComponent().appending(path: file))
          #expect(bytes.firstRange(of: Data(secret.utf8)) == nil, "\(file)")
        }
        persistence.resume()
        #expect(try await persistence.entries(in: nil, url: nil).isEmpty)
      }
    }

    @Test func `a removal from an outbox's store is one access too`() async throws {
      try await withOutbox { path in
        let midway = Midway()
        let storage = try SQLiteOutboxStorage(path: path, system: midway.system, now: { Date() })
        _ = try await storage.commit([.add(entry("one", id: UUID()))], in: .shared)
        midway.arm {
          storage.suspend()
        } until: {
          try storage.database.manage { _ in }
        }
        try await storage.removeAll(in: nil)
        await onThread { midway.hasSuspended.wait() }
        storage.resume()
        #expect(try await storage.contents(of: .shared).entries.isEmpty)
      }
    }

    @Test func `a suspended store can be released, and waiting callers get the error`() async throws {
      try await withDatabase { path in
        var persistence: SQLitePersistence? = try SQLitePersistence(path: path)
        try await persistence?.save(.sample(key), for: key)
        let (began, goes) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let ended = DispatchSemaphore(value: 0)
        // A write that holds the others up.
        let first = Task { [persistence] in
          try await persistence?.writes.run(
            SQLiteWriter.Operation(kind: .save) { _ in
              began.signal()
              goes.wait()
            })
        }
        await onThread { began.wait() }
        let saves = (1...8).map { _ in
          Task { [persistence, key] in try await persistence?.save(.sample(key), for: key) }
        }
        while persistence?.writes.suspendedCount != 8 { await Task.yield() }
        Thread.detachNewThread { [persistence] in
          persistence?.suspend()
          ended.signal()
        }
        while (try? persistence?.database.read(.list, at: Date(), { _ in })) != nil { await Task.yield() }
        weak let released = persistence
        persistence = nil
        goes.signal()
        try await first.value
        for save in saves {
          await #expect(throws: SQLitePersistenceError.suspended(path: path)) { try await save.value }
        }
        await onThread { ended.wait() }
        while released != nil { await Task.yield() }
        #expect(try await SQLitePersistence(path: path).load(key) == .sample(key))
      }
    }

    /// Runs what blocks on a thread of its own.
    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
      }
    }
  }
#endif
