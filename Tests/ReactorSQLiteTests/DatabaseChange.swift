#if SQLite
  // Apart from the tests: GRDB has a Record and a RecordError too.
  import GRDB

  /// Changes the database at `path` behind the persistence's back.
  func change(_ path: String, _ sql: String) throws {
    try DatabaseQueue(path: path).write { try $0.execute(sql: sql) }
  }
#endif
