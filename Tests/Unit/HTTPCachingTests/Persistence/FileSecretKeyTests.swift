import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HTTPCaching

@Suite struct `A file persistence's secret key` {
  private func file(_ directory: URL) -> URL { directory.appending(path: "secret.key") }

  @Test(arguments: [FilePersistence.Synchronization.normal, .full])
  func `the key is the only file beside the records, readable only by its owner`(
    _ synchronization: FilePersistence.Synchronization
  ) async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory, synchronization: synchronization)
      let key = try #require(persistence.secretKey())
      #expect(try Data(contentsOf: file(directory)) == Data(key.bytes))
      #expect(try attribute(.posixPermissions, of: file(directory)) as? Int == 0o600)
      #expect(try attribute(.posixPermissions, of: directory) as? Int == 0o700)
      #expect(files(in: directory).map(name) == ["secret.key"])
      #expect(FilePersistence(directory: directory).secretKey() == key)
    }
  }

  @Test func `a file persistence's secret key is another in another store`() async {
    await withTemporaryDirectory { directory in
      let keys = ["a", "b"].map { FilePersistence(directory: directory.appending(path: $0)).secretKey() }
      #expect(keys[0] != nil && keys[1] != nil && keys[0] != keys[1])
    }
  }

  /// Both have found no file, and the other has made its own before this one gets to.
  @Test func `the first process's key is used by all`() async {
    await withTemporaryDirectory { directory in
      let other = FilePersistence(directory: directory)
      let first = Mutex<RecordKey.SecretKey?>(nil)
      let system = FileSystem { operation, _ in
        if operation == .rename { first.withLock { $0 = $0 ?? other.secretKey() } }
        return nil
      }
      let late = FilePersistence(directory: directory, system: system).secretKey()
      #expect(late != nil && late == first.withLock(\.self))
      #expect(files(in: directory).map(name) == ["secret.key"])
    }
  }

  @Test(arguments: [0, 31, 33, 5_000]) func `replaces a file that is no key`(count: Int) async throws {
    try await withTemporaryDirectory { directory in
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      try Data(repeating: 1, count: count).write(to: file(directory))
      let key = try #require(FilePersistence(directory: directory).secretKey())
      #expect(try Data(contentsOf: file(directory)) == Data(key.bytes))
      #expect(FilePersistence(directory: directory).secretKey() == key)
    }
  }

  /// After any failure, the next process finds a whole key or none, never half of one.
  @Test(arguments: [ENOSPC, EIO, EROFS], [FilePersistence.Synchronization.normal, .full])
  func `a file persistence's secret key is whole or not there, whichever call fails`(
    _ code: Int32, _ synchronization: FilePersistence.Synchronization
  ) async throws {
    var index = 0
    while try await isThere(afterFailing: index, code, synchronization) { index += 1 }
    #expect(index > 8)
  }

  @Test func `a file persistence's secret key is not evicted, listed, verified or removed`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory, countLimit: 2)
      let key = persistence.secretKey()
      for number in 0..<8 { try await persistence.save(.sample(.sample("\(number)")), for: .sample("\(number)")) }
      #expect(try await persistence.entries(in: nil, url: nil).count <= 2)
      #expect(try await persistence.verify() == [])
      try await persistence.removeAll(in: nil)
      #expect(files(in: directory).map(name) == ["secret.key"])
      #expect(FilePersistence(directory: directory).secretKey() == key)
    }
  }

  @Test func `a file persistence's secret key leaves no temporary file where a crash was`() async throws {
    try await withTemporaryDirectory { directory in
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      // Of a process that is gone.
      try Data([1]).write(to: directory.appending(path: ".\(Int32.max - 1)-a-1.temporary"))
      try await FilePersistence(directory: directory).save(.sample(.sample()), for: .sample())
      #expect(files(in: directory, suffix: ".temporary").isEmpty)
    }
  }

  @Test func `a store without a directory has no key`() {
    #expect(FilePersistence(directory: URL(filePath: "/dev/null/a")).secretKey() == nil)
  }

  /// - Returns: whether there was so late a call.
  private func isThere(
    afterFailing index: Int, _ code: Int32, _ synchronization: FilePersistence.Synchronization
  ) async throws -> Bool {
    try await withTemporaryDirectory { directory in
      let count = Atomic<Int>(0)
      let system = FileSystem { _, _ in
        count.add(1, ordering: .relaxed).oldValue == index ? .error(code) : nil
      }
      let key = FilePersistence(directory: directory, synchronization: synchronization, system: system).secretKey()
      let hasFailed = count.load(ordering: .relaxed) > index
      let after = try #require(FilePersistence(directory: directory).secretKey())
      #expect(key == nil ? hasFailed : key == after, "call \(index)")
      #expect(try Data(contentsOf: file(directory)) == Data(after.bytes), "call \(index)")
      return hasFailed
    }
  }
}
