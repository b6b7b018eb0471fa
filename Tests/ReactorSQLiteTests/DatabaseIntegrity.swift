#if SQLite
  // Apart from the tests: GRDB has a Record and a RecordError too.
  import GRDB

  /// What SQLite's own check says of the database at `path`.
  func integrity(of path: String) throws -> [String] {
    try DatabaseQueue(path: path).read { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
  }
#endif
