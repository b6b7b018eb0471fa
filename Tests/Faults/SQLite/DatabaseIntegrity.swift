#if SQLite
  // Apart from the tests: GRDB has a Record and a Record.Failure too.
  import Foundation
  import GRDB

  /// The result of SQLite's own check of the database at `path`.
  func integrity(of path: String) throws -> [String] {
    try DatabaseQueue(path: path).read { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
  }

  /// The names of the damaged files that were set aside beside the database.
  func setAside(_ path: String) -> [String] {
    let directory = (path as NSString).deletingLastPathComponent
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return names.filter { $0.contains(".corrupt-") }
  }
#endif
