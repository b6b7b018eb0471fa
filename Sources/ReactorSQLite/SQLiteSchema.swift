#if SQLite
  import Foundation
  import GRDB
  import HTTPCaching

  /// The tables, and the migrations from earlier releases.
  enum SQLiteSchema {
    /// The migrations. Their identifiers never change, because each database lists the migrations
    /// that it has passed.
    static var migrator: DatabaseMigrator {
      var migrator = DatabaseMigrator()
      migrator.registerMigration("reactor-1") { try $0.execute(sql: first) }
      migrator.registerMigration("reactor-2") { try $0.execute(sql: second) }
      migrator.registerMigration("reactor-3") {
        try $0.execute(sql: third)
        try $0.execute(
          sql: "INSERT INTO reactor_secret_key (id, bytes) VALUES (1, ?)",
          arguments: [Data(RecordKey.SecretKey().bytes)])
      }
      return migrator
    }

    private static let migrations = SQLiteMigrations(
      prefix: "reactor", newer: { _ in SQLiteDamage.newerSchema }, migrator: migrator)

    /// Verifies that this release may change the database. Changes nothing.
    ///
    /// - Throws: ``SQLiteDamage/newerSchema``, ``SQLitePersistenceError/foreign(path:)``,
    ///   `DatabaseError`.
    static func check(_ db: Database, _ path: String) throws { try migrations.check(db, path) }

    /// Creates the tables or migrates them.
    ///
    /// - Throws: ``SQLiteDamage/foreignSchema`` if the tables differ from the migrations' result.
    static func migrate(_ writer: DatabaseQueue) throws { try migrations.migrate(writer, isIntact) }

    /// Returns whether every table and column exists. The statements are executed, because a
    /// statement that is only prepared relies on the schema that the connection has cached.
    static func isIntact(_ db: Database) throws -> Bool {
      do {
        _ = try Row.fetchOne(
          db,
          sql: """
            SELECT digest, scope, url, fetched_at, fresh_until, used_at, size, length(head), length(body)
            FROM reactor_record LIMIT 1
            """)
        _ = try Row.fetchOne(db, sql: "SELECT bytes, count FROM reactor_usage LIMIT 1")
        _ = try secretKey(db)
        // EXPLAIN compiles a change and its triggers without making the change.
        for change in [
          "INSERT INTO reactor_record DEFAULT VALUES", "UPDATE reactor_record SET size = 1",
          "DELETE FROM reactor_record",
        ] {
          _ = try Row.fetchOne(db, sql: "EXPLAIN \(change)")
        }
        return true
      } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
        return false
      }
    }

    static let readingSecretKey = "SELECT bytes FROM reactor_secret_key WHERE id = 1"

    /// Returns the key that the migration created, or `nil` if it was changed.
    static func secretKey(_ db: Database) throws -> RecordKey.SecretKey? {
      let row = try Row.fetchOne(db, sql: readingSecretKey)
      return row.flatMap { Data.fromDatabaseValue($0[0]) }.flatMap { RecordKey.SecretKey(bytes: $0) }
    }
  }

  extension SQLiteSchema {
    private static let first = """
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
      """

    /// Times are in seconds since 2001. `head` and `body` together are the record as `RecordCodec`
    /// writes it. They are the last columns, because SQLite walks all columns before the column
    /// that it reads. The new order requires a new table.
    private static let second = """
      ALTER TABLE reactor_record RENAME TO reactor_record_1;
      DROP INDEX reactor_record_by_scope_and_url;
      DROP INDEX reactor_record_by_url;
      CREATE TABLE reactor_record (
        digest TEXT NOT NULL PRIMARY KEY,
        scope BLOB NOT NULL,
        url TEXT NOT NULL,
        fetched_at REAL,
        fresh_until REAL,
        used_at REAL,
        size INTEGER NOT NULL,
        head BLOB NOT NULL,
        body BLOB NOT NULL
      );
      INSERT INTO reactor_record (digest, scope, url, fetched_at, fresh_until, used_at, size, head, body)
        SELECT digest, scope, url, fetched_at, fetched_at, fetched_at, size, head, body FROM reactor_record_1;
      DROP TABLE reactor_record_1;
      CREATE INDEX reactor_record_by_scope_and_url ON reactor_record (scope, url);
      CREATE INDEX reactor_record_by_use ON reactor_record (used_at, fresh_until);
      CREATE TABLE reactor_usage (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        bytes INTEGER NOT NULL,
        count INTEGER NOT NULL
      );
      INSERT INTO reactor_usage (id, bytes, count) SELECT 1, ifnull(sum(size), 0), count(*) FROM reactor_record;
      CREATE TRIGGER reactor_record_added AFTER INSERT ON reactor_record BEGIN
        UPDATE reactor_usage SET bytes = bytes + new.size, count = count + 1;
      END;
      CREATE TRIGGER reactor_record_replaced AFTER UPDATE OF size ON reactor_record BEGIN
        UPDATE reactor_usage SET bytes = bytes + new.size - old.size;
      END;
      CREATE TRIGGER reactor_record_removed AFTER DELETE ON reactor_record BEGIN
        UPDATE reactor_usage SET bytes = bytes - old.size, count = count - 1;
      END;
      """

    /// The key under which secrets in URLs are digested, in one row.
    private static let third = """
      CREATE TABLE reactor_secret_key (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        bytes BLOB NOT NULL
      );
      """
  }
#endif
