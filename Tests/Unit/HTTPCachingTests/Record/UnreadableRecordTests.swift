import Foundation
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching

@Suite struct `Unreadable records` {
  private let key = RecordKey.sample()
  private let other = RecordKey.sample("other")

  /// A store with two records, of which `change` changes the bytes of the first.
  private func store(
    in directory: URL, _ change: (Data) -> Data
  ) async throws -> (persistence: FilePersistence, file: URL) {
    let persistence = FilePersistence(directory: directory)
    for key in [key, other] { try await persistence.save(.sample(key), for: key) }
    let file = try #require(files(in: directory, suffix: "\(key.digest).record").first)
    try change(Data(contentsOf: file)).write(to: file)
    return (persistence, file)
  }

  static let damages: [(name: String, error: Record.Failure, change: @Sendable (Data) -> Data)] = [
    ("cut in half", .truncated, { $0.prefix($0.count / 2) }),
    ("of zero bytes", .truncated, { _ in Data() }),
    ("without its last byte", .truncated, { $0.dropLast() }),
    ("with a byte too many", .corrupt("1 bytes follow its end"), { $0 + [0] }),
    ("of text", .corrupt("it does not start like a record"), { _ in Data("not a record".utf8) }),
    (
      "of a newer format", .newerFormat(7),
      {
        var data = $0; data[16] = 7; return data
      }
    ),
    ("with another body", .corrupt("the body's checksum is wrong"), { $0.dropLast() + [0] }),
    (
      "with another head", .corrupt("the head's checksum is wrong"),
      {
        var data = $0; data[60] ^= 1; return data
      }
    ),
  ]

  @Test(arguments: damages.indices)
  func `each is its own error, stays as it is, and harms no other`(_ index: Int) async throws {
    let damage = Self.damages[index]
    try await withTemporaryDirectory { directory in
      let (persistence, file) = try await store(in: directory, damage.change)
      let bytes = try Data(contentsOf: file)
      await #expect(throws: damage.error, "a record \(damage.name)") { try await persistence.load(key) }
      #expect(try Data(contentsOf: file) == bytes)
      #expect(try await persistence.load(other) == .sample(other))
      let listed = Set(try await persistence.entries(in: nil, url: nil).map(\.key))
      #expect(listed == (damage.name == "with another body" ? [key, other] : [other]))
    }
  }

  @Test(arguments: damages.indices)
  func `each is replaced by the next save, and can be removed`(_ index: Int) async throws {
    let damage = Self.damages[index]
    try await withTemporaryDirectory { directory in
      let (persistence, file) = try await store(in: directory, damage.change)
      try await persistence.save(.sample(key, "new"), for: key)
      #expect(try await persistence.load(key) == .sample(key, "new"))
      try damage.change(Data(contentsOf: file)).write(to: file)
      try await persistence.remove(key)
      #expect(try await persistence.load(key) == nil)
    }
  }

  @Test func `a directory or a pipe in a record's place is an error, not a wait`() async throws {
    try await withTemporaryDirectory { directory in
      let (persistence, file) = try await store(in: directory) { $0 }
      try FileManager.default.removeItem(at: file)
      try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
      await #expect(throws: Record.Failure.corrupt("the path is not a regular file")) {
        try await persistence.load(key)
      }
      await #expect(throws: FilePersistence.Failure.self) { try await persistence.save(.sample(key), for: key) }
      try FileManager.default.removeItem(at: file)
      #expect(mkfifo(file.path(percentEncoded: false), 0o600) == 0)
      await #expect(throws: Record.Failure.corrupt("the path is not a regular file")) {
        try await persistence.load(key)
      }
      #expect(try await persistence.entries(in: nil, url: nil).map(\.key) == [other])
      try await persistence.save(.sample(key), for: key)
      #expect(try await persistence.load(key) == .sample(key))
    }
  }

  @Test func `random damage is never a crash and never a wrong record`() async throws {
    try await withTemporaryDirectory { directory in
      var generator = SeededGenerator(seed: 1)
      let record = Record.sample(key, String(repeating: "payload ", count: 20))
      let persistence = FilePersistence(directory: directory)
      try await persistence.save(record, for: key)
      let file = try #require(files(in: directory, suffix: ".record").first)
      let original = try Data(contentsOf: file)
      let handle = try FileHandle(forUpdating: file)
      var misses = 0
      for _ in 0..<5_000 {
        var damaged = original
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
          damaged[Int.random(in: 0..<original.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
        }
        try handle.seek(toOffset: 0)
        try handle.write(contentsOf: damaged)
        do {
          #expect(try await persistence.load(key) == record)
          #expect(damaged == original)
        } catch is Record.Failure {
          misses += 1
        }
      }
      #expect(misses > 4_900)
    }
  }
}
