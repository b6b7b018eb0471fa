import Foundation
import GRDBSQLite
import ReactorCore

/// SQLite as its C interface has it, with its statements prepared once: the limit for code that
/// keeps bytes by key in it.
final class RawSQLite {
  struct Failure: Error {
    let code: Int32
  }

  private let database: Connection
  private let loading: Statement
  /// `nil` in a connection that reads.
  private let writing: (save: Statement, begin: Statement, commit: Statement)?

  init(_ path: String) throws {
    database = try Connection(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    try database.execute(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      CREATE TABLE IF NOT EXISTS record (key TEXT NOT NULL PRIMARY KEY, used REAL, head BLOB, body BLOB)
      """)
    loading = try database.prepare(Self.load)
    writing = (
      try database.prepare("INSERT OR REPLACE INTO record (key, used, head, body) VALUES (?, ?, ?, ?)"),
      try database.prepare("BEGIN IMMEDIATE"), try database.prepare("COMMIT")
    )
  }

  init(reading path: String) throws {
    database = try Connection(path, SQLITE_OPEN_READONLY)
    loading = try database.prepare(Self.load)
    writing = nil
  }

  private static let load = "SELECT used, head, body FROM record WHERE key = ?"

  func load(_ key: String) throws -> (head: Data, body: Data)? {
    loading.bind(key, 1)
    return try loading.first { ($0.data(1), $0.data(2)) }
  }

  func save(_ key: String, head: Data, body: Data) throws {
    guard let saving = writing?.save else { return }
    saving.bind(key, 1)
    saving.bind(Date.now.timeIntervalSinceReferenceDate, 2)
    saving.bind(head, 3)
    saving.bind(body, 4)
    try saving.run()
  }

  func transaction(_ body: () throws -> Void) throws {
    try writing?.begin.run()
    try body()
    try writing?.commit.run()
  }

  /// Opens a database, and returns the first column of each row.
  static func rows(of sql: String, in path: String) throws -> [Data] {
    try Connection(path, SQLITE_OPEN_READONLY).prepare(sql).all { $0.data(0) }
  }

  func execute(_ sql: String) throws { try database.execute(sql) }
  func prepare(_ sql: String) throws -> Statement { try database.prepare(sql) }
}

extension RawSQLite {
  /// Closed once no statement of it is left.
  fileprivate final class Connection {
    let handle: OpaquePointer

    init(_ path: String, _ flags: Int32) throws {
      var opened: OpaquePointer?
      let code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
      guard code == SQLITE_OK, let opened else { throw Failure(code: code) }
      handle = opened
    }

    deinit { sqlite3_close_v2(handle) }

    func execute(_ sql: String) throws {
      let code = sqlite3_exec(handle, sql, nil, nil, nil)
      guard code == SQLITE_OK else { throw Failure(code: code) }
    }

    func prepare(_ sql: String) throws -> Statement {
      var statement: OpaquePointer?
      let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
      guard code == SQLITE_OK, let statement else { throw Failure(code: code) }
      return Statement(statement, of: self)
    }
  }

  final class Statement {
    private let handle: OpaquePointer
    private let connection: Connection
    /// SQLite copies what it is given: `SQLITE_TRANSIENT`, whose macro Swift does not see.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    fileprivate init(_ handle: OpaquePointer, of connection: Connection) {
      self.handle = handle
      self.connection = connection
    }

    deinit { sqlite3_finalize(handle) }

    func bind(_ text: String, _ index: Int32) {
      var text = text
      text.withUTF8 { bytes in
        _ = bytes.withMemoryRebound(to: CChar.self) {
          sqlite3_bind_text(handle, index, $0.baseAddress, Int32($0.count), Self.copied)
        }
      }
    }

    func bind(_ data: Data, _ index: Int32) {
      _ = data.withUnsafeBytes { sqlite3_bind_blob(handle, index, $0.baseAddress, Int32($0.count), Self.copied) }
    }

    func bind(_ number: Double, _ index: Int32) { sqlite3_bind_double(handle, index, number) }
    func bind(_ number: Int, _ index: Int32) { sqlite3_bind_int64(handle, index, Int64(number)) }

    func run() throws {
      defer { sqlite3_reset(handle) }
      let code = sqlite3_step(handle)
      guard code == SQLITE_DONE else { throw Failure(code: code) }
    }

    /// The first row; `nil` if there is no row.
    func first<Value>(_ body: (Statement) -> Value) throws -> Value? {
      defer { sqlite3_reset(handle) }
      let code = sqlite3_step(handle)
      if code == SQLITE_DONE { return nil }
      guard code == SQLITE_ROW else { throw Failure(code: code) }
      return body(self)
    }

    func all<Value>(_ body: (Statement) -> Value) throws -> [Value] {
      defer { sqlite3_reset(handle) }
      var values: [Value] = []
      while true {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: values.append(body(self))
        case SQLITE_DONE: return values
        case let code: throw Failure(code: code)
        }
      }
    }

    func data(_ column: Int32) -> Data {
      guard let bytes = sqlite3_column_blob(handle, column) else { return Data() }
      return Data(bytes: bytes, count: Int(sqlite3_column_bytes(handle, column)))
    }
  }
}

extension StoredArticles {
  /// The bytes that stand for the head, as many as a record of the library has.
  static let rawHead = Data(repeating: 0x61, count: 260)

  func save(in raw: RawSQLite) throws {
    for start in stride(from: 0, to: keys.count, by: 1_000) {
      try raw.transaction {
        for key in keys[start..<min(start + 1_000, keys.count)] {
          try raw.save(key.digest, head: Self.rawHead, body: body)
        }
      }
    }
  }
}
