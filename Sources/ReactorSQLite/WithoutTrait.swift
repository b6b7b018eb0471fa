#if !SQLite
  public import Foundation
  public import ReactorCore
  public import ReactorOutbox

  // Without the trait, the declarations exist too, so that the compiler only reports the missing
  // trait.

  @available(
    *, unavailable,
    message: "add traits: [\"SQLite\"] to the package dependency on Reactor, so that GRDB is resolved and this is built"
  )
  extension Persistence where Self == SQLitePersistence {
    /// A store in SQLite, for a layer. Available only with the trait `SQLite`.
    public static func sqlite(_ name: String, in directory: URL? = nil) throws -> SQLitePersistence {
      try SQLitePersistence(path: name)
    }
  }

  /// A store in an SQLite database. Available only with the trait `SQLite`.
  @available(
    *, unavailable,
    message: "add traits: [\"SQLite\"] to the package dependency on Reactor, so that GRDB is resolved and this is built"
  )
  public final class SQLitePersistence: Persistence {
    /// The events that a completed save survives. Available only with the trait `SQLite`.
    public enum Synchronization: Sendable, Hashable { case normal, full }

    /// Unavailable without the trait `SQLite`.
    public init(
      path: String, limit: Int = 0, countLimit: Int = 0, synchronization: Synchronization = .normal
    ) throws {}

    /// Unavailable without the trait `SQLite`.
    public func load(_ key: RecordKey) async throws -> Record? { nil }
    /// Unavailable without the trait `SQLite`.
    public func save(_ record: Record, for key: RecordKey) async throws {}
    /// Unavailable without the trait `SQLite`.
    public func remove(_ key: RecordKey) async throws {}
    /// Unavailable without the trait `SQLite`.
    public func removeAll(in scope: Scope?) async throws {}
    /// Unavailable without the trait `SQLite`.
    public func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] { [] }
    /// Unavailable without the trait `SQLite`.
    public func verify() async throws -> [Record.Defect] { [] }
    /// Unavailable without the trait `SQLite`.
    public static func verify(path: String) async throws -> [Record.Defect] { [] }
    /// Unavailable without the trait `SQLite`.
    public func compact() async throws {}
    /// Unavailable without the trait `SQLite`.
    public func suspend() {}
    /// Unavailable without the trait `SQLite`.
    public func resume() {}
  }

  /// An outbox's store in an SQLite database. Available only with the trait `SQLite`.
  @available(
    *, unavailable,
    message: "add traits: [\"SQLite\"] to the package dependency on Reactor, so that GRDB is resolved and this is built"
  )
  public final class SQLiteOutboxStorage: OutboxStorage {
    /// Unavailable without the trait `SQLite`.
    public init(path: String) throws {}

    /// Unavailable without the trait `SQLite`.
    public func contents(of scope: Scope) async throws -> OutboxContents { OutboxContents() }
    /// Unavailable without the trait `SQLite`.
    public func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] { [] }
    /// Unavailable without the trait `SQLite`.
    public func claim(
      _ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date
    ) async throws -> StoredEntry? { nil }
    /// Unavailable without the trait `SQLite`.
    public func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {}
    /// Unavailable without the trait `SQLite`.
    public func removeAll(in scope: Scope?) async throws {}
    /// Unavailable without the trait `SQLite`.
    public func suspend() {}
    /// Unavailable without the trait `SQLite`.
    public func resume() {}
  }

  /// An error of the SQLite store. Available only with the trait `SQLite`.
  @available(
    *, unavailable,
    message: "add traits: [\"SQLite\"] to the package dependency on Reactor, so that GRDB is resolved and this is built"
  )
  public enum SQLitePersistenceError: Error {}
#endif
