#if SQLite
  import Foundation
  import ReactorCore
  import ReactorTesting
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite("A layer over SQLite in one line") struct SQLiteLayerTests {
    private struct Note: Codable, Sendable, Hashable { var text: String }

    private func layer(_ name: String, in directory: URL, _ transport: ScriptedTransport) throws -> ModelLayer {
      try ModelLayer(
        baseURL: #require(URL(string: "http://localhost/v1")), transport: transport,
        persistence: .sqlite(name, in: directory))
    }

    @Test func `the next layer reads the records of the first from the file`() async throws {
      try await withTemporaryDirectory { directory in
        let transport = ScriptedTransport { _, _ in .json(#"{"text":"one"}"#) }
        for _ in 1...2 {
          let notes = try layer("notes", in: directory, transport).reactor(Note.self)
          #expect(try await notes.fetch("note") == Note(text: "one"))
        }
        #expect(transport.requestCount == 1)
        let file = directory.appending(path: "notes.sqlite").path(percentEncoded: false)
        #expect(FileManager.default.fileExists(atPath: file))
        #expect(try await SQLitePersistence.verify(path: file).isEmpty)
      }
    }

    @Test(arguments: ["", "a/b", "/"])
    func `a name that is a path is refused`(name: String) async {
      await withTemporaryDirectory { directory in
        _ = #expect(throws: SQLitePersistenceError.invalidPath(name)) {
          try layer(name, in: directory, ScriptedTransport())
        }
      }
    }

    @Test func `verify of a path reports a damaged database, and leaves it in place`() async throws {
      try await withTemporaryDirectory { directory in
        let file = directory.appending(path: "notes.sqlite")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try Data(repeating: 7, count: 10_000).write(to: file)
        let defects = try await SQLitePersistence.verify(path: file.path(percentEncoded: false))
        let place = file.path(percentEncoded: false)
        #expect(defects == [Record.Defect(place: place, reason: "it is not an SQLite database")])
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path(percentEncoded: false))
        #expect(names == ["notes.sqlite"])
      }
    }
  }
#endif
