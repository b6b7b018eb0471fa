import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import HTTPCaching

@Suite struct `File persistence` {
  private let key = RecordKey.sample()

  @Test func `a record outlives the object that saved it`() async throws {
    try await withTemporaryDirectory { directory in
      try await FilePersistence(directory: directory).save(.sample(key), for: key)
      #expect(try await FilePersistence(directory: directory).load(key) == .sample(key))
    }
  }

  @Test func `opening and looking make nothing`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      #expect(try await persistence.load(key) == nil)
      #expect(try await persistence.entries(in: nil, url: nil).isEmpty)
      try await persistence.remove(key)
      try await persistence.removeAll(in: nil)
      #expect(!FileManager.default.fileExists(atPath: directory.path(percentEncoded: false)))
    }
  }

  @Test func `a body larger than the first read comes back whole`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      for count in [65_000, 65_400, 65_536, 65_537, 200_000] {
        let record = Record.sample(key, String(repeating: "é", count: count / 2) + "\(count)")
        try await persistence.save(record, for: key)
        #expect(try await persistence.load(key) == record)
      }
    }
  }

  @Test func `a head larger than any read comes back whole`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      var record = Record.sample(key)
      record.head.fields[.eTag] = String(repeating: "x", count: 100_000)
      try await persistence.save(record, for: key)
      #expect(try await persistence.load(key) == record)
      #expect(try await persistence.entries(in: nil, url: nil).map(\.key) == [key])
    }
  }

  @Test func `only the owner may read files and directories`() async throws {
    try await withTemporaryDirectory { directory in
      let nested = directory.appending(path: "a/b")
      try await FilePersistence(directory: nested).save(.sample(key), for: key)
      for url in [directory] + files(in: directory) {
        let isFile = url.pathExtension == "record"
        #expect(try attribute(.posixPermissions, of: url) as? Int == (isFile ? 0o600 : 0o700), "\(name(of: url))")
      }
      #expect(files(in: directory, suffix: ".record").count == 1)
    }
  }

  @Test func `file names hold no part of the URL or the scope`() async throws {
    try await withTemporaryDirectory { directory in
      let key = RecordKey.sample("secret-path", scope: "alice")
      try await FilePersistence(directory: directory).save(.sample(key), for: key)
      let names = files(in: directory).map(\.path)
      #expect(names.count == 3 && names.allSatisfy { !$0.contains("secret") && !$0.contains("alice") })
      #expect(
        name(of: files(in: directory, suffix: ".record")[0]) == "\(FileNames.prefix(of: key.url))\(key.digest).record")
    }
  }

  @Test func `a deleted directory is empty, and is made again`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      try await persistence.save(.sample(key), for: key)
      try FileManager.default.removeItem(at: directory)
      #expect(try await persistence.load(key) == nil)
      #expect(try await persistence.entries(in: nil, url: nil).isEmpty)
      try await persistence.save(.sample(key), for: key)
      #expect(try await persistence.load(key) == .sample(key))
    }
  }

  @Test func `a file of the right name with another identity is a miss`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      try await persistence.save(.sample(key), for: key)
      let file = try #require(files(in: directory, suffix: ".record").first)
      let other = RecordKey.sample("other")
      let place = URL(filePath: try FileNames(directory).path(of: other))
      try FileManager.default.createDirectory(
        at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
      try FileManager.default.moveItem(at: file, to: place)
      #expect(try await persistence.load(other) == nil)
      #expect(try await persistence.entries(in: nil, url: nil).isEmpty)
    }
  }

  @Test func `a record of another key is not saved`() async throws {
    await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      await #expect(throws: Record.Failure.wrongKey) { try await persistence.save(.sample(.sample("b")), for: key) }
      #expect(files(in: directory).isEmpty)
    }
  }

  @Test func `removing everything leaves other programs' files in place`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      try await persistence.save(.sample(key), for: key)
      try Data("mine".utf8).write(to: directory.appending(path: "notes.txt"))
      try FileManager.default.createDirectory(
        at: directory.appending(path: "Documents"), withIntermediateDirectories: true)
      try await persistence.removeAll(in: nil)
      #expect(files(in: directory).map(name) == ["Documents", "notes.txt"])
    }
  }

  @Test func `removing a scope removes its temporary files too`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      try await persistence.save(.sample(key), for: key)
      let folder = try #require(files(in: directory, suffix: ".record").first).deletingLastPathComponent()
      try Data("secret".utf8).write(to: folder.appending(path: FileNames.temporary()))
      try await persistence.removeAll(in: .shared)
      #expect(files(in: directory).isEmpty)
    }
  }

  @Test func `use is noted, but not at every load`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      try await persistence.save(.sample(key), for: key)
      let file = try #require(files(in: directory, suffix: ".record").first)
      func lastUsed() async throws -> Date? { try await persistence.entries(in: nil, url: nil).first?.lastUsedAt }
      let recent = Date(timeIntervalSinceNow: -20)
      try setUsed(recent, file)
      _ = try await persistence.load(key)
      #expect(try #require(try await lastUsed()) < Date(timeIntervalSinceNow: -15))
      for other in [-100, 100] as [TimeInterval] {
        try setUsed(Date(timeIntervalSinceNow: other), file)
        _ = try await persistence.load(key)
        #expect(abs(try #require(try await lastUsed()).timeIntervalSinceNow) < 50)
      }
    }
  }

  @MainActor @Test func `no method works on the caller's executor`() async throws {
    try await withTemporaryDirectory { directory in
      let isOnMain = Atomic(false)
      let system = FileSystem { _, _ in
        if Thread.isMainThread { isOnMain.store(true, ordering: .relaxed) }
        return nil
      }
      let persistence = FilePersistence(directory: directory, system: system)
      try await persistence.save(.sample(key), for: key)
      _ = try await persistence.load(key)
      _ = try await persistence.entries(in: nil, url: nil)
      try await persistence.remove(key)
      try await persistence.removeAll(in: nil)
      let wasOnMain = isOnMain.load(ordering: .relaxed)
      #expect(!wasOnMain)
    }
  }
}
