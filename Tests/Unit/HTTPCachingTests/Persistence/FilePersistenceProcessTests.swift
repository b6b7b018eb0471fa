import Foundation
import TestSupport
import Testing

@testable import HTTPCaching

@Suite struct `File persistence in two processes` {
  static let count = 300
  static func body(_ index: Int, _ writer: String) -> String { String(repeating: "\(writer)\(index) ", count: 200) }

  /// The parent and a child save, load, list and remove the same keys at once, within a limit that
  /// evicts.
  @Test func `records stay whole while both write, remove and evict`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(percentEncoded: false)
      async let child: Void = Self.child(path)
      try await Self.work(in: path, writer: "parent")
      try await child
      #expect(files(in: directory, suffix: ".temporary").isEmpty)
      let persistence = FilePersistence(directory: directory)
      for entry in try await persistence.entries(in: nil, url: nil) { _ = try await persistence.load(entry.key) }
    }
  }

  private static func child(_ path: String) async throws {
    await #expect(processExitsWith: .success) { [path] in
      try await `File persistence in two processes`.work(in: path, writer: "child")
    }
  }

  private static func work(in path: String, writer: String) async throws {
    let persistence = FilePersistence(directory: URL(filePath: path), limit: 30_000)
    for index in 0..<count {
      let key = RecordKey.sample("\(index % 7)")
      try await persistence.save(.sample(key, body(index, writer)), for: key)
      if let record = try await persistence.load(key) {
        let text = String(decoding: record.body, as: UTF8.self)
        try #require(text.hasPrefix("parent") || text.hasPrefix("child"))
      }
      if index % 20 == 19 { _ = try await persistence.entries(in: nil, url: nil) }
      if index % 50 == 49 { try await persistence.removeAll(in: .shared) }
    }
  }
}
