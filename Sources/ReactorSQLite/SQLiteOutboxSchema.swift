#if SQLite
  import GRDB
  import ReactorOutbox

  /// The tables of an outbox, and the migrations from earlier releases. No name begins like a name
  /// of the records' tables, so neither store mistakes the other's database for its own.
  enum SQLiteOutboxSchema {
    private static let migrations = SQLiteMigrations(
      prefix: "outbox", newer: { OutboxStorageError.newerFormat(path: $0) }, migrator: migrator)

    private static var migrator: DatabaseMigrator {
      var migrator = DatabaseMigrator()
      migrator.registerMigration("outbox-1") { try $0.execute(sql: first) }
      migrator.registerMigration("outbox-2") { try $0.execute(sql: second) }
      migrator.registerMigration("outbox-3") { try $0.execute(sql: third) }
      return migrator
    }

    /// Verifies that this release may change the database. Changes nothing.
    ///
    /// - Throws: `OutboxStorageError.newerFormat`, ``SQLitePersistenceError/foreign(path:)``,
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
        for query in [
          "SELECT number, scope, id, lane, length(bytes), process, until FROM outbox_entry LIMIT 1",
          "SELECT scope, temporary, length(id) FROM outbox_identity LIMIT 1",
          "SELECT identity FROM outbox_store LIMIT 1",
          // EXPLAIN compiles a change and its triggers without making the change.
          "EXPLAIN INSERT INTO outbox_entry DEFAULT VALUES", "EXPLAIN UPDATE outbox_entry SET until = 1",
          "EXPLAIN DELETE FROM outbox_entry", "EXPLAIN INSERT INTO outbox_identity DEFAULT VALUES",
        ] {
          _ = try Row.fetchOne(db, sql: query)
        }
        return true
      } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
        return false
      }
    }

    /// `AUTOINCREMENT`, so that no number is used twice. Texts are blobs, because in SQLite a text
    /// ends at a NUL. The end of a lease is in seconds since 2001. The bytes are the last column,
    /// because SQLite walks all columns before the column that it reads.
    private static let first = """
      CREATE TABLE outbox_entry (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        scope BLOB NOT NULL,
        id BLOB NOT NULL,
        lane BLOB NOT NULL,
        process BLOB,
        until REAL,
        bytes BLOB NOT NULL
      );
      CREATE UNIQUE INDEX outbox_entry_by_id ON outbox_entry (scope, id);
      CREATE INDEX outbox_entry_by_scope ON outbox_entry (scope);
      CREATE TABLE outbox_identity (
        scope BLOB NOT NULL,
        temporary BLOB NOT NULL,
        id BLOB NOT NULL,
        PRIMARY KEY (scope, temporary)
      );
      """

    /// An addition changes a page of each index, and each page is written and synchronized. What
    /// this index found is found by the other one, or in the order of the table.
    private static let second = "DROP INDEX IF EXISTS outbox_entry_by_scope"

    /// The identity of the database. A file that replaces a deleted one has another identity.
    private static let third = """
      CREATE TABLE outbox_store (identity BLOB NOT NULL);
      INSERT INTO outbox_store (identity) VALUES (randomblob(16));
      """
  }
#endif
