import Foundation
import HTTPCaching
import ReactorConformance
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOutbox

@Suite struct `An outbox in files` {
  @Test func `reading a directory that does not exist creates nothing`() async throws {
    try await withTemporaryDirectory { directory in
      let storage = FileOutboxStorage(directory: directory)
      #expect(try await storage.contents(of: .shared).withoutIdentity == OutboxContents())
      #expect(try await storage.commit([], in: .shared) == [])
      #expect(try await storage.claim(UUID(), in: .shared, by: UUID(), now: .now, until: .distantFuture) == nil)
      try await storage.release(UUID(), in: .shared, by: UUID())
      try await storage.removeAll(in: nil)
      #expect(!FileManager.default.fileExists(atPath: directory.path(percentEncoded: false)))
    }
  }

  @Test func `only the owner may read the directory and files`() async throws {
    try await withTemporaryDirectory { parent in
      let directory = parent.appending(path: "a/b")
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.add(.sample("one"))], in: .shared)
      try Data("damage".utf8).write(to: journal(in: directory))
      _ = try await storage.contents(of: .shared)
      #expect(try attribute(.posixPermissions, of: parent) as? Int == 0o700)
      #expect(try attribute(.posixPermissions, of: directory) as? Int == 0o700)
      // The lock, the journal and the damaged one.
      #expect(files(in: directory).count == 3)
      for file in files(in: directory) where !file.lastPathComponent.contains("damaged") {
        #expect(try attribute(.posixPermissions, of: file) as? Int == 0o600, "\(file.lastPathComponent)")
      }
    }
  }

  @Test func `removing everything leaves other programs' files`() async throws {
    try await withTemporaryDirectory { directory in
      let storage = FileOutboxStorage(directory: directory)
      for scope in ["a", "b"] as [Scope] { _ = try await storage.commit([.add(.sample("one"))], in: scope) }
      for name in ["notes.txt", "a.journal", String(repeating: "z", count: 64) + ".journal"] {
        try Data().write(to: directory.appending(path: name))
      }
      // A process that ended while it wrote a journal again leaves this.
      let journal = try #require(files(in: directory, suffix: ".journal").first { $0.lastPathComponent.first != "a" })
      try Data("secret".utf8).write(to: journal.appendingPathExtension("new"))
      try await storage.removeAll(in: nil)
      let names = files(in: directory).map(\.lastPathComponent)
      #expect(Set(names) == ["lock", "notes.txt", "a.journal", String(repeating: "z", count: 64) + ".journal"])
    }
  }

  @Test func `a deleted directory is an empty outbox, and is created again`() async throws {
    try await withTemporaryDirectory { directory in
      let storage = FileOutboxStorage(directory: directory)
      _ = try await storage.commit([.add(.sample("one"))], in: .shared)
      try FileManager.default.removeItem(at: directory)
      #expect(try await storage.contents(of: .shared).withoutIdentity == OutboxContents())
      _ = try await storage.commit([.add(.sample("two"))], in: .shared)
      #expect(try await FileOutboxStorage(directory: directory).contents(of: .shared).texts == ["two"])
    }
  }

  @Test(arguments: ["https://example.com/outbox", "file:///tmp/a%00b"])
  func `a URL that is no directory is refused`(_ url: String) async throws {
    let storage = FileOutboxStorage(directory: try #require(URL(string: url)))
    await #expect(throws: FilePersistence.Failure.self) { try await storage.contents(of: .shared) }
    await #expect(throws: FilePersistence.Failure.self) {
      try await storage.commit([.add(.sample("one"))], in: .shared)
    }
    await #expect(throws: FilePersistence.Failure.self) { try await storage.removeAll(in: nil) }
  }
}

@Suite struct `The lock of an outbox in files` {
  /// Calls `body` with a store of one entry on a clock that stands still, and holds its lock.
  private func whileLocked(
    _ body: (FileOutboxStorage, TestClock, LockHolder) async throws -> Void
  ) async throws {
    try await withTemporaryDirectory { directory in
      let clock = TestClock()
      let storage = FileOutboxStorage(directory: directory, system: FileSystem(), clock: clock)
      _ = try await storage.commit([.add(.sample("one"))], in: .shared)
      let path = directory.appending(path: "lock").path(percentEncoded: false)
      try await body(storage, clock, try #require(LockHolder(path)))
    }
  }

  @Test func `a lock that is taken for ten seconds is an error that names it`() async throws {
    try await whileLocked { storage, clock, holder in
      async let commit = Result { try await storage.commit([.add(.sample("two"))], in: .shared) }
      for _ in 0..<2_000 {
        try await clock.waitForSleepers()
        clock.advance(by: FileOutboxStorage.lockInterval)
      }
      let result = await commit
      let error = #expect(throws: OutboxStorageError.self) { try result.get() }
      guard case .locked(let path) = try #require(error) else { throw try #require(error) }
      let text = "\(try #require(error))"
      #expect(path.hasSuffix("/lock") && text.hasSuffix("try again, or end that process"))
      #expect(clock.now.elapsed == .seconds(10))
      holder.release()
      #expect(try await storage.contents(of: .shared).texts == ["one"])
    }
  }

  @Test func `a lock that is released in time is waited for, also by a task that was cancelled`() async throws {
    try await whileLocked { storage, clock, holder in
      let commit = Task { try await storage.commit([.add(.sample("two"))], in: .shared) }
      try await clock.waitForSleepers()
      commit.cancel()
      clock.advance(by: FileOutboxStorage.lockInterval)
      try await clock.waitForSleepers()
      holder.release()
      clock.advance(by: FileOutboxStorage.lockInterval)
      #expect(try await commit.value == [2])
      #expect(try await storage.contents(of: .shared).texts == ["one", "two"])
    }
  }
}

/// Another process that is stuck with the lock.
private final class LockHolder: Sendable {
  private let descriptor: Int32

  init?(_ path: String) {
    descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
  }

  func release() { flock(descriptor, LOCK_UN) }

  deinit { close(descriptor) }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}

@Suite struct `An outbox in files of two processes` {
  static let count = 60

  /// The parent and a child add and remove at once. Each finds its own entries in their order.
  @Test func `nothing is lost, and each number is one entry's`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(percentEncoded: false)
      async let child: Void = Self.child(path)
      try await Self.work(in: path, writer: "parent")
      try await child
      let contents = try await FileOutboxStorage(directory: directory).contents(of: .shared)
      #expect(contents.setAside.isEmpty)
      #expect(Set(contents.entries.map(\.number)).count == contents.entries.count)
      for writer in ["parent", "child"] {
        let left = (0..<Self.count).filter { !$0.isMultiple(of: 3) }.map { "\(writer) \($0)" }
        #expect(contents.texts.filter { $0.hasPrefix(writer) } == left)
      }
    }
  }

  private static func child(_ path: String) async throws {
    await #expect(processExitsWith: .success) { [path] in
      try await `An outbox in files of two processes`.work(in: path, writer: "child")
    }
  }

  private static func work(in path: String, writer: String) async throws {
    let storage = FileOutboxStorage(directory: URL(filePath: path))
    for index in 0..<count {
      let entry = StoredEntry.sample("\(writer) \(index)")
      _ = try await storage.commit([.add(entry)], in: .shared)
      if index.isMultiple(of: 3) { _ = try await storage.commit([.remove(entry.id)], in: .shared) }
      try #require(try await storage.contents(of: .shared).setAside.isEmpty)
    }
  }
}
