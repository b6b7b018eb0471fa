#if SQLite && (os(macOS) || os(Linux))
  import Foundation
  import ReactorCore
  import ReactorSQLite
  import TestSupport
  import Testing

  @Suite struct `SQLite in the long run` {
    /// In a separate process, because its memory is measured.
    @Test func `the store stays under its limit and its slack, and memory stays flat`() async throws {
      await withTemporaryDirectory { directory in
        let path = directory.appending(path: "records.sqlite").path(percentEncoded: false)
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
          [path = path as String] in
          try await `SQLite in the long run`.soak(path)
        }
        print("SQLite:", String(decoding: result?.standardOutputContent ?? [], as: UTF8.self))
      }
    }

    private static func soak(_ path: String) async throws {
      let soak = Soak()
      let store = try SQLitePersistence(path: path, limit: soak.limit)
      try await soak.run(store, largest: 2 * soak.limit + (8 << 20)) {
        ["", "-wal", "-shm"].reduce(0) { sum, suffix in
          let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
          return sum + (attributes?[.size] as? Int ?? 0)
        }
      }
    }
  }
#endif
