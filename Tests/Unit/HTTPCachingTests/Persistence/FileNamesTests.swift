import Foundation
import HTTPTypes
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import HTTPCaching

/// Counts the calls of a kind.
private final class Calls: Sendable {
  private let counts = Mutex<[FilePersistence.Failure.Operation: Int]>([:])

  var system: FileSystem {
    FileSystem { operation, _ in
      self.counts.withLock { $0[operation, default: 0] += 1 }
      return nil
    }
  }

  func take(_ operation: FilePersistence.Failure.Operation) -> Int {
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

  /// Returns the number of opened files, for a store with this many other records.
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
      let other = RecordKey(method: .get, url: "https://api.example.com/other", scope: Self.scopes[0])
      let folder = URL(filePath: try FileNames(directory).path(of: other)).deletingLastPathComponent()
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let name = FileNames.prefix(of: other.url) + file.lastPathComponent.dropFirst(17)
      try FileManager.default.moveItem(at: file, to: folder.appending(path: name))
      #expect(try await persistence.entries(in: nil, url: other.url).isEmpty)
    }
  }

  @Test func `are in a directory with few others, so that no large one is gone through`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory)
      for number in 0..<1_000 { try await persistence.save(.sample(key(number)), for: key(number)) }
      let records = files(in: directory, suffix: ".record")
      let fullest = Dictionary(grouping: records) { $0.deletingLastPathComponent() }.values.map(\.count).max()
      #expect(records.count == 1_000)
      #expect(try #require(fullest) <= 8)
    }
  }

  @Test func `are found by one look at one directory`() async throws {
    try await withTemporaryDirectory { directory in
      let calls = Calls()
      let persistence = FilePersistence(directory: directory, system: calls.system)
      for number in 0..<20 { try await persistence.save(.sample(key(number)), for: key(number)) }
      _ = calls.take(.list)
      #expect(try await persistence.entries(in: "alice", url: key(0).url).map(\.key) == [key(0)])
      #expect(calls.take(.list) == 1)
    }
  }
}
