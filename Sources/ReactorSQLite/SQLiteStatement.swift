#if SQLite
  import Foundation
  import GRDB
  import GRDBSQLite

  /// A statement that runs through SQLite's own functions. GRDB's rows and arguments would cost
  /// more than reading a record of 1 KB.
  struct SQLiteStatement {
    private let handle: OpaquePointer
    private let connection: OpaquePointer?
    /// Keeps GRDB's statement alive.
    private let owner: Statement?

    /// Creates a statement that GRDB keeps prepared.
    init(_ db: Database, _ sql: String) throws {
      let statement = try db.cachedStatement(sql: sql)
      handle = statement.sqliteStatement
      connection = db.sqliteConnection
      owner = statement
    }

    init(_ handle: OpaquePointer, _ connection: OpaquePointer) {
      self.handle = handle
      self.connection = connection
      owner = nil
    }

    enum Value {
      case text(String)
      case blob(Data)
      case bytes([UInt8])
      case real(Double)
      case integer(Int)
      case null
    }

    /// Runs the statement to its end.
    func run(_ values: Value...) throws { try run(values) }

    func run(_ values: [Value]) throws { try bound(values) { while try step() {} } }

    /// Calls `body` with each row.
    func each(_ values: Value..., body: (SQLiteRow) -> Void) throws {
      try bound(values) { while try step() { body(SQLiteRow(handle: handle)) } }
    }

    /// Calls `body` with the first row, or returns `nil` if the result is empty.
    func first<Result>(_ values: Value..., body: (SQLiteRow) -> Result) throws -> Result? {
      try first(values, body: body)
    }

    func first<Result>(_ values: [Value], body: (SQLiteRow) -> Result) throws -> Result? {
      try bound(values) { try step() ? body(SQLiteRow(handle: handle)) : nil }
    }

    /// Calls `body` while the values are bound.
    private func bound<Result>(_ values: [Value], _ body: () throws -> Result) throws -> Result {
      defer {
        // The error was already thrown.
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
      }
      for (value, index) in zip(values, Int32(1)...) { try check(bind(value, index)) }
      return try body()
    }

    /// Binds a value. SQLite copies its bytes.
    private func bind(_ value: Value, _ index: Int32) -> Int32 {
      switch value {
      case .text(var text):
        text.withUTF8 { bytes in
          sqlite3_bind_text(handle, index, Self.start(bytes), Int32(clamping: bytes.count), Self.copied)
        }
      case .blob(let data): data.withUnsafeBytes { bind($0, index) }
      case .bytes(let bytes): bytes.withUnsafeBytes { bind($0, index) }
      case .real(let value): sqlite3_bind_double(handle, index, value)
      case .integer(let value): sqlite3_bind_int64(handle, index, Int64(value))
      case .null: sqlite3_bind_null(handle, index)
      }
    }

    private func bind(_ bytes: UnsafeRawBufferPointer, _ index: Int32) -> Int32 {
      // An empty buffer has no address, and SQLite would bind NULL.
      bytes.isEmpty
        ? sqlite3_bind_zeroblob(handle, index, 0)
        : sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), Self.copied)
    }

    /// `SQLITE_TRANSIENT`, a macro that Swift does not import.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private static func start(_ bytes: UnsafeBufferPointer<UInt8>) -> UnsafePointer<CChar>? {
      UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
    }

    /// Advances to the next row. Returns `false` after the last row.
    private func step() throws -> Bool {
      let code = sqlite3_step(handle)
      guard code != SQLITE_ROW else { return true }
      guard code == SQLITE_DONE else { throw failure(code) }
      return false
    }

    private func check(_ code: Int32) throws { if code != SQLITE_OK { throw failure(code) } }

    private func failure(_ code: Int32) -> DatabaseError {
      DatabaseError(resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(connection)))
    }
  }

  /// A row, valid until the statement advances. A column of another type is `nil`.
  struct SQLiteRow {
    fileprivate let handle: OpaquePointer

    func data(_ column: Int32) -> Data? { blob(column).map { Data($0) } }

    func bytes(_ column: Int32) -> [UInt8]? { blob(column).map { Array($0) } }

    func real(_ column: Int32) -> Double? {
      let type = sqlite3_column_type(handle, column)
      return type == SQLITE_FLOAT || type == SQLITE_INTEGER ? sqlite3_column_double(handle, column) : nil
    }

    func integer(_ column: Int32) -> Int? {
      sqlite3_column_type(handle, column) == SQLITE_INTEGER ? Int(sqlite3_column_int64(handle, column)) : nil
    }

    private func blob(_ column: Int32) -> UnsafeRawBufferPointer? {
      guard sqlite3_column_type(handle, column) == SQLITE_BLOB else { return nil }
      // An empty blob has no address.
      let start = sqlite3_column_blob(handle, column)
      return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }
  }
#endif
