#if SQLite
  import GRDB

  /// The table, and how an older release's becomes this one's.
  enum SQLiteSchema {
    /// Identifiers stay as they are for ever: a database names those that it has been through.
    static var migrator: DatabaseMigrator {
      var migrator = DatabaseMigrator()
      migrator.registerMigration("reactor-1") { db in
        // `head` and `body` together are the record as RecordCodec writes it. They come last: reading a column costs
        // walking all before it.
        try db.execute(
          sql: """
            CREATE TABLE reactor_record (
              digest TEXT NOT NULL PRIMARY KEY,
              scope BLOB NOT NULL,
              url TEXT NOT NULL,
              fetched_at REAL,
              size INTEGER NOT NULL,
              head BLOB NOT NULL,
              body BLOB NOT NULL
            );
            CREATE INDEX reactor_record_by_scope_and_url ON reactor_record (scope, url);
            CREATE INDEX reactor_record_by_url ON reactor_record (url);
            """)
      }
      return migrator
    }

    static func migrate(_ pool: DatabasePool) throws {
      do {
        try migrator.migrate(pool)
      } catch {
        // Two that open one new file at once both begin to migrate it; the later one fails, and finds it done.
        guard try pool.read(migrator.hasCompletedMigrations) else { throw error }
      }
    }
  }
#endif
