import CommandSupport
import Foundation
import ReactorTesting
import Testing

@testable import reactor

/// Each test runs over a directory and over an SQLite file.
@Suite(.timeLimit(.minutes(5))) struct `reactor store` {
  private struct Line: Decodable {
    var key: String
    var url: String
    var size: Int
    var fetchedAt: Date
    var freshUntil: Date?
  }

  /// Two records: `/a` is fresh for a minute by its own word, `/b` says nothing.
  private func withStore(
    _ name: String, _ body: (_ store: String, _ url: (String) -> String) async throws -> Void
  ) async throws {
    let server = try MockServer.answering([
      "/a": .text(#"{"a":1}"#, headers: [.cacheControl: "max-age=60"]), "/b": .text(#"{"b":2}"#),
    ])
    try await TemporaryDirectory.use { directory in
      let store = directory.appending(path: name).path(percentEncoded: false)
      for path in ["/a", "/b"] {
        #expect(try await Command.run("fetch", server.url(path), "--store", store).status == 0)
      }
      try await body(store) { server.url($0) }
    }
    server.stop()
  }

  private func lines(_ store: String) async throws -> [Line] {
    let result = try await Command.run("store", "list", "--json", "--store", store)
    #expect(result.status == 0 && result.error == "")
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return try decoder.decode([Line].self, from: Data(result.output.utf8))
  }

  @Test(arguments: ["store", "store.sqlite"])
  func `lists what is there, as a table and as JSON`(name: String) async throws {
    try await withStore(name) { store, url in
      let lines = try await lines(store)
      #expect(lines.map(\.url) == [url("/a"), url("/b")])
      #expect(lines.allSatisfy { $0.key.count == 64 && $0.size > 7 && abs($0.fetchedAt.timeIntervalSinceNow) < 60 })
      #expect(lines[0].freshUntil.map { (50...70).contains($0.timeIntervalSince(lines[0].fetchedAt)) } == true)
      #expect(lines[1].freshUntil == nil)
      let table = try await Command.run("store", "list", "--store", store).output.split(separator: "\n")
      #expect(table.count == 3 && table[0].hasPrefix("KEY"))
      #expect(table[1].hasPrefix(lines[0].key.prefix(12)) && table[1].hasSuffix(url("/a")))
      #expect(table[2].contains("  -  "))
    }
  }

  @Test(arguments: ["store", "store.sqlite"])
  func `a store that is not there is empty, and is not made`(name: String) async throws {
    try await TemporaryDirectory.use { directory in
      let store = directory.appending(path: name).path(percentEncoded: false)
      let list = try await Command.run("store", "list", "--json", "--store", store)
      #expect(list.status == 0)
      #expect(try JSONDecoder().decode([Line].self, from: Data(list.output.utf8)).isEmpty)
      for subcommand in ["list", "verify", "clear", "compact"] {
        #expect(try await Command.run("store", subcommand, "--store", store).status == 0)
      }
      #expect(try await Command.run("store", "show", "ab", "--store", store).status == 66)
      #expect(!FileManager.default.fileExists(atPath: store))
    }
  }

  @Test(arguments: ["store", "store.sqlite"])
  func `shows a record by the beginning of its key, as it was received`(name: String) async throws {
    try await withStore(name) { store, url in
      let key = try #require(try await lines(store).first).key
      let result = try await Command.run("store", "show", String(key.prefix(16)), "--store", store)
      #expect(result.status == 0)
      #expect(result.output.hasPrefix("GET \(url("/a"))\n200"))
      #expect(
        result.output.contains("Cache-Control: max-age=60\n") || result.output.contains("cache-control: max-age=60\n"))
      #expect(result.output.hasSuffix("\n\n{\"a\":1}\n"))
    }
  }

  @Test(arguments: ["store", "store.sqlite"])
  func `removes one record, and then all`(name: String) async throws {
    try await withStore(name) { store, url in
      let key = try #require(try await lines(store).first).key
      #expect(try await Command.run("store", "remove", key, "--store", store).output == "removed GET \(url("/a"))\n")
      #expect(try await lines(store).map(\.url) == [url("/b")])
      #expect(try await Command.run("store", "remove", key, "--store", store).status == 66)
      #expect(try await Command.run("store", "clear", "--store", store).output == "removed 1 record\n")
      #expect(try await lines(store).isEmpty)
      #expect(try await Command.run("store", "compact", "--store", store).status == 0)
    }
  }

  @Test func `a beginning that two keys have is refused`() async throws {
    try await withStore("store") { store, _ in
      let result = try await Command.run("store", "remove", "", "--store", store)
      #expect(result.status == 66)
      #expect(try await lines(store).count == 2)
    }
  }

  @Test(arguments: ["store", "store.sqlite"])
  func `verify says that all can be read, or names what cannot, and changes nothing`(name: String) async throws {
    try await withStore(name) { store, _ in
      let good = try await Command.run("store", "verify", "--store", store)
      #expect(good.status == 0 && good.output == "every record can be read\n")
      // Moves the content of SQLite's log into the database: a damaged log would be a shorter one.
      #expect(try await Command.run("store", "compact", "--store", store).status == 0)
      try damage(store)
      let files = try contents(store)
      let bad = try await Command.run("store", "verify", "--store", store)
      #expect(bad.status == 65)
      #expect(bad.output.split(separator: "\n").count >= 1 && !bad.output.contains("every record"))
      let json = try await Command.run("store", "verify", "--json", "--store", store)
      let defects = try JSONDecoder().decode([[String: String]].self, from: Data(json.output.utf8))
      #expect(json.status == 65 && defects.allSatisfy { Set($0.keys) == ["place", "reason"] } && !defects.isEmpty)
      #expect(try contents(store) == files)
    }
  }

  /// Changes a byte of one record's body.
  private func damage(_ store: String) throws {
    for path in try paths(store) where path.hasSuffix(".record") || path.hasSuffix(".sqlite") {
      var bytes = try Data(contentsOf: URL(filePath: path))
      guard let place = bytes.range(of: Data(#"{"a":1}"#.utf8))?.lowerBound else { continue }
      bytes[place + 5] = UInt8(ascii: "2")
      try bytes.write(to: URL(filePath: path))
    }
  }

  private func paths(_ store: String) throws -> [String] {
    let directory = URL(filePath: store).deletingLastPathComponent().path(percentEncoded: false)
    return try FileManager.default.subpathsOfDirectory(atPath: directory).map { directory + $0 }.sorted()
  }

  /// Returns the stored files, except for the lock and the index of SQLite's log, which each
  /// opening makes again.
  private func contents(_ store: String) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for path in try paths(store) where !path.hasSuffix("-shm") && !path.hasSuffix("-wal") && !path.hasSuffix("-lock") {
      contents[path] = FileManager.default.contents(atPath: path)
    }
    return contents
  }

  @Test func `a store is named, and a database that cannot be opened is an error`() async throws {
    #expect(try await Command.run("store", "list").status == 64)
    #expect(try await Command.run("store", "list", "--store", "").status == 64)
    try await TemporaryDirectory.use { directory in
      let path = directory.appending(path: "directory.sqlite").path(percentEncoded: false)
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      let result = try await Command.run("store", "list", "--store", path)
      #expect(result.status == 74 && result.error.hasPrefix("reactor: "))
    }
  }
}
