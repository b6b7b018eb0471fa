import Foundation
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching

@Suite struct `File persistence's limit` {
  private func keys(_ count: Int) -> [RecordKey] {
    (0..<count).map { .sample("\($0)", scope: Scope("user \($0 % 3)")) }
  }

  private func size(_ directory: URL) throws -> Int {
    try files(in: directory, suffix: ".record").reduce(0) { try $0 + (attribute(.size, of: $1) as? Int ?? 0) }
  }

  private func stored(_ persistence: FilePersistence, _ keys: [RecordKey]) async throws -> [Int] {
    var found: [Int] = []
    for (index, key) in keys.enumerated() where try await persistence.load(key) != nil { found.append(index) }
    return found
  }

  private let body = String(repeating: "x", count: 1_000)

  @Test func `the bytes stay under the limit after each save, and the newest stay`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory, limit: 20_000)
      let keys = keys(60)
      for key in keys {
        try await persistence.save(.sample(key, body), for: key)
        #expect(try size(directory) <= 20_000)
        #expect(try await persistence.load(key) != nil)
      }
      let left = try await stored(persistence, keys)
      #expect(left == Array((60 - left.count)..<60))
      #expect(left.count > 10)
    }
  }

  @Test func `the count stays under its limit`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory, countLimit: 16)
      for key in keys(50) {
        try await persistence.save(.sample(key), for: key)
        #expect(files(in: directory, suffix: ".record").count <= 16)
      }
      #expect(files(in: directory, suffix: ".record").count >= 14)
    }
  }

  @Test func `the last used record is evicted last`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory, countLimit: 8, system: FileSystem(), touchInterval: 0)
      let keys = keys(9)
      for key in keys.prefix(8) { try await persistence.save(.sample(key), for: key) }
      for (index, file) in files(in: directory, suffix: ".record").enumerated() {
        try setUsed(Date(timeIntervalSinceNow: -1_000 - Double(index)), file)
      }
      for index in [3, 5] { #expect(try await persistence.load(keys[index]) != nil) }
      try await persistence.save(.sample(keys[8]), for: keys[8])
      let left = try await stored(persistence, keys)
      #expect(left.count == 7 && Set(left).isSuperset(of: [3, 5, 8]))
    }
  }

  @Test func `a record that was saved by a clock ahead is evicted first`() async throws {
    try await withTemporaryDirectory { directory in
      let keys = keys(103)
      let ahead = FilePersistence(directory: directory, countLimit: 64)
      for key in keys.prefix(63) { try await ahead.save(.sample(key), for: key) }
      for file in files(in: directory, suffix: ".record") {
        try setUsed(Date(timeIntervalSinceNow: 365 * 86_400), file)
      }
      let persistence = FilePersistence(directory: directory, countLimit: 64)
      for key in keys.dropFirst(63) { try await persistence.save(.sample(key), for: key) }
      let left = try await stored(persistence, keys)
      #expect(Set(left).isSuperset(of: 63..<103))
      #expect(left.count >= 56)
    }
  }

  /// The latest saves stay, whatever times the files have: as many as seven eighths of the limit.
  @Test func `whatever times the files have, what was saved last stays`() async throws {
    var generator = SeededGenerator(seed: Chance.seed("Times of files"))
    for _ in 0..<Chance.count("REACTOR_WALKS", default: 10) {
      try await withTemporaryDirectory { directory in
        let keys = keys(40)
        for round in 0..<3 {
          let persistence = FilePersistence(directory: directory, countLimit: 16)
          let own = keys[round * 12..<round * 12 + 12]
          for key in own { try await persistence.save(.sample(key), for: key) }
          #expect(Set(try await stored(persistence, keys)).isSuperset(of: own.indices), "round \(round)")
          // The clock was wrong as these were saved, by seconds or by years.
          for file in files(in: directory, suffix: ".record") {
            let size = Double.random(in: 61...1e4, using: &generator)
            let units: [Double] = [1, 1e5, -1, -1e5]
            let unit = units.randomElement(using: &generator) ?? 1
            try setUsed(Date(timeIntervalSinceNow: size * unit), file)
          }
        }
      }
    }
  }

  @Test func `overwriting one record evicts nothing`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory, limit: 4_000)
      let keys = keys(2)
      for _ in 0..<20 {
        for key in keys { try await persistence.save(.sample(key, body), for: key) }
      }
      #expect(try await stored(persistence, keys) == [0, 1])
    }
  }

  @Test func `a record larger than the limit is refused, and costs no other`() async throws {
    try await withTemporaryDirectory { directory in
      let persistence = FilePersistence(directory: directory, limit: 2_000)
      let key = RecordKey.sample()
      try await persistence.save(.sample(key, body), for: key)
      let error = await #expect(throws: FilePersistence.Failure.self) {
        try await persistence.save(.sample(key, body + body), for: key)
      }
      #expect(try #require(error).description.contains("raise the store's limit"))
      #expect(try await persistence.load(key) == .sample(key, body))
    }
  }

  @Test func `records that another instance saved count too`() async throws {
    try await withTemporaryDirectory { directory in
      let (one, two) = (
        FilePersistence(directory: directory, limit: 16_000), FilePersistence(directory: directory, limit: 16_000)
      )
      for (index, key) in keys(60).enumerated() {
        try await (index.isMultiple(of: 2) ? one : two).save(.sample(key, body), for: key)
        #expect(try size(directory) <= 16_000 + 16_000 / 16 + 1_300)
      }
    }
  }

  @Test func `a failing eviction does not fail the save`() async throws {
    try await withTemporaryDirectory { directory in
      let system = FileSystem { operation, _ in operation == .list || operation == .remove ? .error(13) : nil }
      let persistence = FilePersistence(directory: directory, limit: 3_000, system: system)
      for key in keys(10) { try await persistence.save(.sample(key, body), for: key) }
      #expect(files(in: directory, suffix: ".record").count == 10)
    }
  }

  @Test func `leftovers of a crash are removed, and a file being written is not`() async throws {
    try await withTemporaryDirectory { directory in
      let key = RecordKey.sample()
      try await FilePersistence(directory: directory).save(.sample(key), for: key)
      let folder = try #require(files(in: directory, suffix: ".record").first).deletingLastPathComponent()
      let own = FileNames.temporary()
      let abandoned = [
        ".2147483646-x-1.temporary", ".\(ProcessInfo.processInfo.processIdentifier)-earlier-1.temporary",
      ]
      let old = FileNames.temporary()
      for name in abandoned + [own, old] { try Data("half".utf8).write(to: folder.appending(path: name)) }
      try setUsed(Date(timeIntervalSinceNow: -3_700), folder.appending(path: old))
      try await FilePersistence(directory: directory).save(.sample(key), for: key)
      #expect(files(in: directory, suffix: ".temporary").map(name) == [own])
      #expect(try await FilePersistence(directory: directory).load(key) == .sample(key))
    }
  }
}
