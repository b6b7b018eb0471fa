import Foundation
import HTTPTypes
import ReactorTesting
import Synchronization
import Testing

@testable import ReactorCore

/// Records as the release before this one named their files.
private struct EarlierStore {
  let directory: URL

  func folder(_ scope: Scope) -> URL {
    directory.appending(path: SHA256Digest.hex(Array(scope.name.utf8)), directoryHint: .isDirectory)
  }

  func file(_ key: RecordKey) -> URL { folder(key.scope).appending(path: "\(key.digest).record") }

  func save(_ record: Record, for key: RecordKey) throws {
    try FileManager.default.createDirectory(at: folder(key.scope), withIntermediateDirectories: true)
    try Data(RecordCodec.encodeHead(of: record) + Array(record.body)).write(to: file(key))
  }
}

/// Counts the calls of a kind.
private final class Calls: Sendable {
  private let counts = Mutex<[FilePersistenceError.Operation: Int]>([:])

  var system: FileSystem {
    FileSystem { operation, _ in
      self.counts.withLock { $0[operation, default: 0] += 1 }
      return nil
    }
  }

  func take(_ operation: FilePersistenceError.Operation) -> Int {
    counts.withLock { counts in
      defer { counts = [:] }
      return counts[operation] ?? 0
    }
  }
}

@Suite struct `Files of one URL` {
  private static let scopes: [Scope] = ["alice", "bob"]

  private func key(_ number: Int, _ method: HTTPRequest.Method = .get) -> RecordKey {
    RecordKey(method: method, url: "https://api.example.com/\(number)", scope: Self.scopes[number % 2])
  }

  /// How many files are opened, for a store with so many other records.
  private func opened(
    beside count: Int, _ body: (FilePersistence) async throws -> Void
  ) async throws -> Int {
    try await withTemporaryDirectory { directory in
      let calls = Calls()
      let persistence = FilePersistence(directory: directory, system: calls.system)
      for number in 0..<count { try await persistence.save(.sample(key(number)), for: key(number)) }
      for method in [HTTPRequest.Method.head, .post] {
        try await persistence.save(.sample(key(0, method)), for: key(0, method))
      }
      _ = calls.take(.open)
      try await body(persistence)
      return calls.take(.open)
    }
  }

  @Test(arguments: [nil, "alice"] as [Scope?])
  func `are found without opening another's, however many there are`(scope: Scope?) async throws {
    for count in [1, 10, 300] {
      let opened = try await opened(beside: count) { persistence in
        let found = try await persistence.entries(in: scope, url: key(0).url)
        #expect(Set(found.map(\.key)) == [key(0), key(0, .head), key(0, .post)])
      }
      #expect(opened == 3, "beside \(count)")
    }
  }

  @Test func `are invalidated and removed without opening another's`() async throws {
    for count in [1, 300] {
      let removing = try await opened(beside: count) { try await HTTPCache(persistence: $0).remove(key(0)) }
      #expect(removing <= 8, "beside \(count)")
      let changing = try await opened(beside: count) { persistence in
        for key in try await HTTPCache(persistence: persistence).keys(of: key(0).url, in: nil) {
          try await HTTPCache(persistence: persistence).invalidate(key, at: Date(timeIntervalSinceReferenceDate: 9))
        }
      }
      #expect(changing <= 8, "beside \(count)")
    }
  }

  @Test func `with the digest of another URL are told from it by their keys`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      try await persistence.save(.sample(key(0)), for: key(0))
      let file = try #require(files(in: directory, suffix: ".record").first)
      // As if both URLs had one digest.
      let name = FileNames.prefix(of: "https://api.example.com/other") + file.lastPathComponent.dropFirst(17)
      try FileManager.default.moveItem(at: file, to: file.deletingLastPathComponent().appending(path: name))
      #expect(try await persistence.entries(in: nil, url: "https://api.example.com/other").isEmpty)
    }
  }
}

@Suite struct `Records of an earlier release` {
  private let keys = (0..<6).map { RecordKey.sample("\($0)", scope: $0.isMultiple(of: 2) ? .shared : "alice") }

  private func earlier(_ directory: URL) throws -> EarlierStore {
    let store = EarlierStore(directory: directory)
    for key in keys { try store.save(.sample(key), for: key) }
    return store
  }

  @Test(arguments: [FilePersistence.Synchronization.normal, .full], 0..<4)
  func `are there, whichever call comes first`(_ kind: FilePersistence.Synchronization, _ first: Int) async throws {
    try await withTemporaryDirectory { directory in
      let store = try earlier(directory)
      let persistence = FilePersistence(directory: directory, synchronization: kind)
      let new = RecordKey.sample("new", scope: "alice")
      switch first {
      case 0: #expect(try await persistence.load(keys[0]) == .sample(keys[0]))
      case 1: #expect(Set(try await persistence.entries(in: nil, url: nil).map(\.key)) == Set(keys))
      case 2: try await persistence.save(.sample(new), for: new)
      default: #expect(try await persistence.entries(in: "alice", url: keys[1].url).map(\.key) == [keys[1]])
      }
      for key in keys {
        #expect(try await persistence.load(key) == .sample(key))
        #expect(!FileManager.default.fileExists(atPath: store.folder(key.scope).path(percentEncoded: false)))
      }
      #expect(try await persistence.verify().isEmpty)
    }
  }

  @Test func `are removed with their key, their scope, and all`() async throws {
    for scope in [nil, "alice"] as [Scope?] {
      try await withTemporaryDirectory { directory in
        _ = try earlier(directory)
        try await FilePersistence(directory: directory).removeAll(in: scope)
        let left = keys.filter { scope != nil && $0.scope != scope }
        #expect(Set(try await FilePersistence(directory: directory).entries(in: nil, url: nil).map(\.key)) == Set(left))
      }
    }
    try await withTemporaryDirectory { directory in
      _ = try earlier(directory)
      for key in keys { try await FilePersistence(directory: directory).remove(key) }
      #expect(files(in: directory, suffix: ".record").isEmpty)
    }
  }

  @Test func `replace none that was saved since, and come back after no removal`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      for key in keys { try await persistence.save(.sample(key, "newer"), for: key) }
      // Another process, of the earlier release, or one that ended between a record's two names.
      _ = try earlier(directory)
      let next = FilePersistence(directory: directory)
      for key in keys { #expect(try await next.load(key) == .sample(key, "newer")) }
      try await next.remove(keys[0])
      #expect(try await FilePersistence(directory: directory).load(keys[0]) == nil)
    }
  }

  @Test func `are each there after whichever call failed`() async throws {
    var call = 0
    while true {
      call += 1
      let calls = Shared(0)
      let system = FileSystem { [call] _, _ in
        calls.change { calls in
          calls += 1
          return calls == call ? .error(EIO) : nil
        }
      }
      try await withTemporaryDirectory { directory in
        _ = try earlier(directory)
        let failing = FilePersistence(directory: directory, synchronization: .full, system: system)
        _ = try? await failing.entries(in: nil, url: nil)
        let persistence = FilePersistence(directory: directory)
        for key in keys { #expect(try await persistence.load(key) == .sample(key), "call \(call)") }
        #expect(files(in: directory, suffix: ".record").count == keys.count, "call \(call)")
      }
      guard calls.value >= call else { break }
    }
    #expect(call > 30)
  }

  @Test func `are damaged or of a newer release: the first are removed, the second stay, and both harm no other`()
    async throws
  {
    try await withTemporaryDirectory { directory in
      let store = try earlier(directory)
      try Data("no record".utf8).write(to: store.file(keys[0]))
      var newer = try Data(contentsOf: store.file(keys[2]))
      newer[16] = 7
      try newer.write(to: store.file(keys[2]))
      let persistence = FilePersistence(directory: directory)
      #expect(try await persistence.entries(in: nil, url: nil).count == 4)
      #expect(!FileManager.default.fileExists(atPath: store.file(keys[0]).path(percentEncoded: false)))
      #expect(FileManager.default.fileExists(atPath: store.file(keys[2]).path(percentEncoded: false)))
      try await persistence.removeAll(in: nil)
      #expect(files(in: directory, suffix: ".record").isEmpty)
    }
  }
}
