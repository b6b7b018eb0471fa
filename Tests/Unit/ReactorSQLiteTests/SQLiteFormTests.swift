#if SQLite
  import Dispatch
  import Foundation
  import HTTPCaching
  import HTTPTypes
  import ReactorCore
  import ReactorLoopback
  import ReactorOutbox
  import ReactorTesting
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite(.timeLimit(.minutes(5))) struct `Forms of an outbox in SQLite` {
    private func withFile(_ body: (_ database: URL, _ file: URL) async throws -> Void) async throws {
      try await withTemporaryDirectory { directory in
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let file = directory.appending(path: "sunset.jpg")
        try Data(repeating: 7, count: 100_000).write(to: file)
        try await body(directory.appending(path: "outbox.sqlite"), file)
      }
    }

    private func layer(_ database: URL, _ transport: ScriptedTransport, sendsByItself: Bool) throws -> ModelLayer {
      var outbox = OutboxConfiguration(storage: try SQLiteOutboxStorage(path: database.path()), mutations: [])
      outbox.sendsByItself = sendsByItself
      return ModelLayer(baseURL: Bench.url, transport: transport, reachability: .always, extensions: [.outbox(outbox)])
    }

    private func forms(of database: URL) -> [URL] { files(in: URL(filePath: database.path() + "-forms")) }

    private func request(_ file: URL) throws -> OutboxRequest {
      OutboxRequest(
        url: try #require(URL(string: "https://other.example.com/photos")), form: [.file("photo", at: file)])
    }

    @Test func `a form in SQLite is sent by the next process, and removed with its entry`() async throws {
      try await withFile { database, file in
        let transport = ScriptedTransport()
        transport.answer("/photos", with: .response(.noContent))
        let first = try layer(database, transport, sendsByItself: false)
        try await first.submit(try request(file))
        try FileManager.default.removeItem(at: file)
        #expect(try forms(of: database).map { try attribute(.posixPermissions, of: $0) as? Int } == [0o600])
        await first.outbox.stop()
        let next = try layer(database, transport, sendsByItself: true)
        #expect(await next.outbox.drain(within: .seconds(60)) == 0)
        let sent = try #require(transport.requests.first)
        let type = sent.request.headerFields[.contentType] ?? ""
        let parts = try MultipartBody(try #require(sent.body), contentType: type).parts
        #expect(parts.map(\.bytes) == [Data(repeating: 7, count: 100_000)])
        #expect(forms(of: database).isEmpty)
        await next.outbox.stop()
      }
    }

    @Test func `the forms of one scope are removed with it, and those of others stay`() async throws {
      try await withFile { database, file in
        let layer = try layer(database, ScriptedTransport(), sendsByItself: false)
        try await layer.submit(try request(file))
        let storage = try SQLiteOutboxStorage(path: database.path())
        try await storage.removeAll(in: "other")
        #expect(forms(of: database).count == 1)
        try await layer.signOut()
        #expect(forms(of: database).isEmpty)
        await layer.outbox.stop()
      }
    }

    @Test func `a form that was never added is removed after seven days without an entry`() async throws {
      try await withFile { database, file in
        let clock = Shared(Date())
        let storage = try SQLiteOutboxStorage(path: database.path())
        func read(after time: TimeInterval) async throws -> Int {
          clock.change { $0 += time }
          let reader = try SQLiteOutboxStorage(path: database.path(), system: SQLiteSystem()) { clock.value }
          _ = try await reader.contents(of: .shared)
          return forms(of: database).count
        }
        var kept = [try await storage.keep([.file("photo", at: file)], for: UUID(), in: .shared)]
        #expect(try await read(after: 0) == 1)
        #expect(try await read(after: 8 * 86_400) == 1)
        withExtendedLifetime(kept) {}
        kept = []
        #expect(try await read(after: 0) == 1)
        #expect(try await read(after: 6 * 86_400) == 1)
        #expect(try await read(after: 86_401) == 0)
      }
    }

    @Test(arguments: [true, false])
    func `a removal takes the copy of an entry that is about to be added, and the entry`(isOwn: Bool) async throws {
      try await withFile { database, file in
        let storage = try SQLiteOutboxStorage(path: database.path())
        let (id, later) = (UUID(), UUID())
        let kept = try await storage.keep([.file("photo", at: file)], for: id, in: .shared)
        let stays = try await storage.keep([.file("photo", at: file)], for: later, in: .shared)
        let remover = isOwn ? storage : try SQLiteOutboxStorage(path: database.path())
        try await remover.removeAll(in: "other")
        try await remover.removeAll(in: .shared, keeping: []) { [later] }
        #expect(forms(of: database).count == 1)
        func add(_ id: UUID) async throws {
          _ = try await storage.commit([.add(StoredEntry(id: id, lane: "main", bytes: Data()))], in: .shared)
        }
        await #expect(throws: FormStorageError.removed) { try await add(id) }
        try await add(later)
        #expect(try await storage.contents(of: .shared).entries.map(\.id) == [later])
        try await remover.removeAll(in: nil)
        #expect(forms(of: database).isEmpty)
        withExtendedLifetime((kept, stays)) {}
      }
    }

    @Test func `a removal by another process ends a copy that is under way`() async throws {
      try await withFile { database, file in
        let (reached, goes) = (Gate(), Latch())
        var system = SQLiteSystem()
        system.files = FileSystem { operation, path in
          guard operation == .synchronize, path.contains(".form-") else { return nil }
          reached.open()
          goes.block()
          return nil
        }
        let storage = try SQLiteOutboxStorage(path: database.path(), system: system) { Date() }
        let remover = try SQLiteOutboxStorage(path: database.path())
        async let copy = TestSupport.error {
          try await storage.keep([.file("photo", at: file)], for: UUID(), in: .shared)
        }
        try await reached.wait()
        try await remover.removeAll(in: .shared)
        #expect(forms(of: database).isEmpty)
        goes.open()
        let error = await copy
        guard case .network(FormStorageError.removed)? = error else {
          return #expect(Bool(false), "\(String(describing: error))")
        }
        #expect(forms(of: database).isEmpty)
      }
    }

    @Test func `an unfinished copy is removed by a reading of another scope`() async throws {
      try await withFile { database, file in
        let storage = try SQLiteOutboxStorage(path: database.path())
        let kept = try await storage.keep([.file("photo", at: file)], for: UUID(), in: .shared)
        let whole = try #require(forms(of: database).first)
        try FileManager.default.moveItem(at: whole, to: URL(filePath: whole.path() + ".new"))
        _ = try await storage.contents(of: "other")
        #expect(forms(of: database).count == 1)
        kept.release()
        _ = try await storage.contents(of: "other")
        #expect(forms(of: database).isEmpty)
      }
    }

    @Test func `a form is sent although the database was removed, and another program has read the new one`()
      async throws
    {
      try await withFile { database, file in
        let transport = ScriptedTransport()
        transport.answer("/photos", with: .response(.noContent))
        let layer = try layer(database, transport, sendsByItself: false)
        try await layer.outbox.reload()
        try await layer.submit(try request(file))
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database.path() + suffix) }
        let other = try SQLiteOutboxStorage(path: database.path())
        #expect(try await other.contents(of: .shared).entries.isEmpty)
        try await layer.outbox.reload()
        #expect(await layer.outbox.drain(within: .seconds(60)) == 0)
        #expect(transport.requests.count == 1 && forms(of: database).isEmpty)
        await layer.outbox.stop()
      }
    }

    @Test func `suspending a store ends the copy of a form, which leaves no lock and no file`() async throws {
      try await withFile { database, file in
        try Data(count: 4 << 20).write(to: file)
        let (reads, locked) = (Tick(), Shared<Bool?>(nil))
        let storage = Shared<SQLiteOutboxStorage?>(nil)
        let (refuses, suspended) = (DispatchSemaphore(value: 0), Gate())
        var system = SQLiteSystem()
        // However busy the machine is.
        system.patience = .seconds(60)
        system.files = FileSystem { operation, path in
          // The second call of the first piece. Each piece has two.
          guard operation == .read, path == file.path(), reads.next() == 2 else { return nil }
          Thread.detachNewThread {
            storage.value?.suspend()
            locked.change { $0 = forms(of: database).contains { !isFree($0) } }
            suspended.open()
          }
          refuses.wait()
          return nil
        }
        system.refuses = { refuses.signal() }
        storage.change { $0 = try? SQLiteOutboxStorage(path: database.path(), system: system) { Date() } }
        let store = try #require(storage.value)
        await #expect(throws: SQLitePersistenceError.suspended(path: database.path())) {
          _ = try await store.keep([.file("photo", at: file)], for: UUID(), in: .shared)
        }
        try await suspended.wait()
        #expect(locked.value == false && reads.next() == 3 && forms(of: database).isEmpty)
        await #expect(throws: SQLitePersistenceError.suspended(path: database.path())) {
          _ = try await store.keep([.file("photo", at: file)], for: UUID(), in: .shared)
        }
        store.resume()
        _ = try await store.keep([.file("photo", at: file)], for: UUID(), in: .shared)
        storage.change { $0 = nil }
      }
    }

    @Test func `suspending a store does not wait for a file that does not answer`() async throws {
      try await withFile { database, file in
        let (reached, answers) = (Gate(), Latch())
        var system = SQLiteSystem()
        system.files = FileSystem { operation, path in
          guard operation == .read, path == file.path() else { return nil }
          reached.open()
          answers.block()
          return nil
        }
        let storage = try SQLiteOutboxStorage(path: database.path(), system: system) { Date() }
        async let copy = TestSupport.error {
          try await storage.keep([.file("photo", at: file)], for: UUID(), in: .shared)
        }
        try await reached.wait()
        let form = try #require(forms(of: database).first)
        #expect(!isFree(form))
        storage.suspend()
        #expect(isFree(form))
        // It has no lock any more, so it cannot go on.
        storage.resume()
        answers.open()
        let error = await copy
        guard case .network(SQLitePersistenceError.suspended)? = error else {
          return #expect(Bool(false), "\(String(describing: error))")
        }
        #expect(forms(of: database).isEmpty)
      }
    }

    @Test func `suspending a store releases the lock of a form whose entry is not added yet`() async throws {
      try await withFile { database, file in
        let storage = try SQLiteOutboxStorage(path: database.path())
        let kept = try await storage.keep([.file("photo", at: file)], for: UUID(), in: .shared)
        let form = try #require(forms(of: database).first)
        #expect(!isFree(form))
        storage.suspend()
        #expect(isFree(form))
        withExtendedLifetime(kept) {}
      }
    }

    /// Returns `true` if nobody has locked a file, or it is gone.
    private func isFree(_ file: URL) -> Bool {
      let descriptor = open(file.path(), O_RDONLY)
      guard descriptor >= 0 else { return true }
      defer { close(descriptor) }
      return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }
  }
#endif
