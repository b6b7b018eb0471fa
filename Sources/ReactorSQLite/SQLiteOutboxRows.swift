#if SQLite
  import Foundation
  import GRDB
  import ReactorCore
  import ReactorOutbox

  /// The statements on the tables of one scope of an outbox. Reading does not trust the type of a
  /// column.
  struct SQLiteOutboxRows {
    let scope: Data
    let db: Database

    init(_ scope: Scope, _ db: Database) {
      self.scope = Data(scope.name.utf8)
      self.db = db
    }

    /// Returns the entries, their leases and the ids from servers. Rows that cannot be read are
    /// described instead.
    func contents() throws -> OutboxContents {
      var contents = OutboxContents()
      // In the order of the table. The plus keeps SQLite from taking the index and sorting.
      try SQLiteStatement(db, "SELECT \(Self.columns) FROM outbox_entry WHERE +scope = ? ORDER BY number")
        .each(.blob(scope)) { row in
          if let entry = Self.entry(row) {
            contents.entries.append(entry)
            contents.leases[entry.id] = Self.lease(row)
          } else {
            let number = row.integer(0) ?? 0
            contents.setAside.append("the entry in row \(number) of the database cannot be read, and stays there")
          }
        }
      try SQLiteStatement(db, "SELECT temporary, id FROM outbox_identity WHERE scope = ?").each(.blob(scope)) { row in
        guard let temporary = row.data(0), let id = row.data(1) else { return }
        contents.identities[String(decoding: temporary, as: UTF8.self)] = id
      }
      contents.identity =
        try SQLiteStatement(db, "SELECT identity FROM outbox_store")
        .first([]) { $0.data(0).flatMap(UUID.init(bytes:)) } ?? nil
      return contents
    }

    /// Returns the ids of the entries of every scope.
    static func ids(_ db: Database) throws -> Set<UUID> {
      var ids: Set<UUID> = []
      try SQLiteStatement(db, "SELECT id FROM outbox_entry").each { row in
        if let id = row.data(0).flatMap(UUID.init(bytes:)) { ids.insert(id) }
      }
      return ids
    }

    /// Returns a Boolean value that indicates whether there are entries between two numbers.
    func hasEntries(after: UInt64, before: UInt64) throws -> Bool {
      // In the order of the table, from the first number on.
      try integer(
        "SELECT 1 FROM outbox_entry WHERE number > ? AND number < ? AND +scope = ? LIMIT 1",
        .integer(Int(clamping: after)), .integer(Int(clamping: before)), .blob(scope)) != nil
    }

    private static let columns = "number, id, lane, bytes, process, until"

    private static func lease(_ row: SQLiteRow) -> OutboxLease? {
      guard let process = row.data(4).flatMap(UUID.init(bytes:)), let until = row.real(5) else { return nil }
      return OutboxLease(process: process, until: Date(timeIntervalSinceReferenceDate: until))
    }

    private static func entry(_ row: SQLiteRow) -> StoredEntry? {
      guard let number = row.integer(0).flatMap(UInt64.init(exactly:)),
        let id = row.data(1).flatMap(UUID.init(bytes:)), let lane = row.data(2), let bytes = row.data(3)
      else { return nil }
      return StoredEntry(id: id, number: number, lane: String(decoding: lane, as: UTF8.self), bytes: bytes)
    }

    /// Applies changes in order.
    ///
    /// - Parameter isRepeated: A Boolean value that indicates whether the changes may be there
    ///   already, because another process adopted them from a database that it set aside.
    /// - Returns: The numbers of the entries that were added or moved.
    func apply(_ changes: [OutboxChange], isRepeated: Bool) throws -> [UInt64] {
      var numbers: [UInt64] = []
      /// At least as many entries as there are.
      var count: Int?
      for change in changes {
        switch change {
        case .add(let entry):
          let before = try count ?? self.count(adding: changes.count)
          numbers.append(try add(entry, before, isRepeated: isRepeated))
          count = before + 1
        case .require(let entry): try require(entry)
        case .update(let entry): try update(entry)
        case .move(let entry): numbers.append(try move(entry))
        case .remove(let id):
          try run("DELETE FROM outbox_entry WHERE scope = ? AND id = ?", .blob(scope), .blob(id.bytes))
          count = count.map { $0 - db.changesCount }
        case .identify(let temporary, let id):
          try run(
            """
            INSERT INTO outbox_identity (scope, temporary, id) VALUES (?, ?, ?)
            ON CONFLICT (scope, temporary) DO UPDATE SET id = excluded.id
            """, .blob(scope), .blob(Data(temporary.utf8)), .blob(id))
          try removeOldIDs()
        }
      }
      return numbers
    }

    /// Removes the old ids that no entry contains, once so many are new. The rows are in the order
    /// in which the ids were given.
    private func removeOldIDs() throws {
      let count = try integer("SELECT count(*) FROM outbox_identity WHERE scope = ?", .blob(scope)) ?? 0
      guard count > GivenIDs.limit, count.isMultiple(of: GivenIDs.slack) else { return }
      var held = HeldIDs()
      try SQLiteStatement(db, "SELECT bytes FROM outbox_entry WHERE +scope = ?").each(.blob(scope)) { row in
        if let bytes = row.data(0) { held.note(bytes) }
      }
      var old: [Data] = []
      try SQLiteStatement(
        db,
        "SELECT temporary FROM outbox_identity WHERE scope = ? ORDER BY rowid DESC LIMIT -1 OFFSET \(GivenIDs.limit)"
      ).each(.blob(scope)) { row in
        if let temporary = row.data(0), !held.contains(String(decoding: temporary, as: UTF8.self)) {
          old.append(temporary)
        }
      }
      for temporary in old {
        try run("DELETE FROM outbox_identity WHERE scope = ? AND temporary = ?", .blob(scope), .blob(temporary))
      }
    }

    /// Returns the number of entries, or a greater number if that leaves room for `new` more. The
    /// count is a walk over all of them; the distance between the first and the last number of all
    /// scopes is not.
    private func count(adding new: Int) throws -> Int {
      let span = try integer(
        "SELECT (SELECT max(number) FROM outbox_entry) + 1 - (SELECT min(number) FROM outbox_entry)")
      guard let span else { return 0 }
      guard span > OutboxContents.entryLimit - new else { return span }
      return try integer("SELECT count(*) FROM outbox_entry WHERE scope = ?", .blob(scope)) ?? 0
    }

    private func add(_ entry: StoredEntry, _ count: Int, isRepeated: Bool) throws -> UInt64 {
      let isFull = count >= OutboxContents.entryLimit
      // Elsewhere, the insertion finds the existing entry.
      if isRepeated || isFull, let number = try number(of: entry.id) {
        guard isRepeated, let number = UInt64(exactly: number) else {
          throw OutboxStorageError.duplicateEntry(entry.id)
        }
        try update(entry)
        return number
      }
      guard !isFull else { throw OutboxStorageError.full(limit: OutboxContents.entryLimit) }
      try entry.checkSize()
      return try insert(entry, process: nil, until: nil)
    }

    private func require(_ entry: StoredEntry) throws {
      let isStored = try integer(
        "SELECT bytes = ? FROM outbox_entry WHERE scope = ? AND id = ?", .blob(entry.bytes), .blob(scope),
        .blob(entry.id.bytes))
      guard let isStored else { throw OutboxStorageError.unknownEntry(entry.id) }
      guard isStored == 1 else { throw OutboxStorageError.changedEntry(entry.id) }
    }

    private func update(_ entry: StoredEntry) throws {
      try entry.checkSize()
      try run(
        "UPDATE outbox_entry SET lane = ?, bytes = ? WHERE scope = ? AND id = ?",
        .blob(Data(entry.lane.utf8)), .blob(entry.bytes), .blob(scope), .blob(entry.id.bytes))
      guard db.changesCount > 0 else { throw OutboxStorageError.unknownEntry(entry.id) }
    }

    /// Only an insertion gives a number that was never used.
    private func move(_ entry: StoredEntry) throws -> UInt64 {
      try entry.checkSize()
      let lease = try first("SELECT process, until FROM outbox_entry WHERE scope = ? AND id = ?", entry.id) {
        (process: $0.data(0), until: $0.real(1))
      }
      guard let lease else { throw OutboxStorageError.unknownEntry(entry.id) }
      try run("DELETE FROM outbox_entry WHERE scope = ? AND id = ?", .blob(scope), .blob(entry.id.bytes))
      return try insert(entry, process: lease.process, until: lease.until)
    }

    private func insert(_ entry: StoredEntry, process: Data?, until: Double?) throws -> UInt64 {
      try run(
        """
        INSERT INTO outbox_entry (scope, id, lane, process, until, bytes) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (scope, id) DO NOTHING
        """,
        .blob(scope), .blob(entry.id.bytes), .blob(Data(entry.lane.utf8)), process.map { .blob($0) } ?? .null,
        until.map { .real($0) } ?? .null, .blob(entry.bytes))
      guard db.changesCount > 0 else { throw OutboxStorageError.duplicateEntry(entry.id) }
      guard let number = UInt64(exactly: db.lastInsertedRowID) else {
        throw SQLiteDamage.corrupt("a number is negative")
      }
      return number
    }

    private func number(of id: UUID) throws -> Int? {
      try integer("SELECT number FROM outbox_entry WHERE scope = ? AND id = ?", .blob(scope), .blob(id.bytes))
    }

    /// Leases an entry, unless another process holds a lease.
    ///
    /// - Returns: The leased entry.
    func claim(_ id: UUID, by process: UUID, now: Date, until: Date) throws -> StoredEntry? {
      guard
        let entry = try first(
          "SELECT \(Self.columns) FROM outbox_entry WHERE scope = ? AND id = ?", id, body: Self.entry) ?? nil
      else { return nil }
      try run(
        """
        UPDATE outbox_entry SET process = ?, until = ?
        WHERE scope = ? AND id = ? AND (process IS NULL OR process = ? OR until IS NULL OR until <= ? OR until > ?)
        """,
        .blob(process.bytes), .real(until.timeIntervalSinceReferenceDate), .blob(scope), .blob(id.bytes),
        .blob(process.bytes), .real(now.timeIntervalSinceReferenceDate),
        .real(until.addingTimeInterval(until.timeIntervalSince(now)).timeIntervalSinceReferenceDate))
      return db.changesCount > 0 ? entry : nil
    }

    func release(_ id: UUID, by process: UUID) throws {
      try run(
        "UPDATE outbox_entry SET process = NULL, until = NULL WHERE scope = ? AND id = ? AND process = ?",
        .blob(scope), .blob(id.bytes), .blob(process.bytes))
    }

    private func run(_ sql: String, _ values: SQLiteStatement.Value...) throws {
      try SQLiteStatement(db, sql).run(values)
    }

    private func integer(_ sql: String, _ values: SQLiteStatement.Value...) throws -> Int? {
      try SQLiteStatement(db, sql).first(values) { $0.integer(0) } ?? nil
    }

    /// Reads the entry with an id.
    private func first<Result>(_ sql: String, _ id: UUID, body: (SQLiteRow) -> Result) throws -> Result? {
      try SQLiteStatement(db, sql).first([.blob(scope), .blob(id.bytes)], body: body)
    }

    static func removeAll(in scope: Scope, keeping ids: Set<UUID>, _ db: Database) throws {
      let kept = Set(ids.map(\.bytes))
      let scope = Data(scope.name.utf8)
      try db.execute(sql: "DELETE FROM outbox_identity WHERE scope = ?", arguments: [scope])
      for id in try Data.fetchAll(db, sql: "SELECT id FROM outbox_entry WHERE scope = ?", arguments: [scope])
      where !kept.contains(id) {
        try db.execute(sql: "DELETE FROM outbox_entry WHERE scope = ? AND id = ?", arguments: [scope, id])
      }
    }

    static func removeAll(in scope: Scope?, _ db: Database) throws {
      for table in ["outbox_entry", "outbox_identity"] {
        if let scope {
          try db.execute(sql: "DELETE FROM \(table) WHERE scope = ?", arguments: [Data(scope.name.utf8)])
        } else {
          try db.execute(sql: "DELETE FROM \(table)")
        }
      }
    }
  }

  extension UUID {
    fileprivate var bytes: Data { withUnsafeBytes(of: uuid) { Data($0) } }

    fileprivate init?(bytes: Data) {
      guard bytes.count == 16 else { return nil }
      self.init(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
    }
  }
#endif
