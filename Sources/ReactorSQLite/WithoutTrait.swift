#if !SQLite
  public import Foundation
  public import ReactorCore

  // Every initializer is here without the trait too, so that the compiler says what to add and nothing else.

  extension ModelLayer {
    /// A layer whose records are in SQLite. It is there with the trait `SQLite` alone.
    @available(
      *, unavailable,
      message:
        "add traits: [\"SQLite\"] to the package dependency on Reactor, so that GRDB is resolved and this is built"
    )
    public convenience init(
      baseURL: URL, sqlite name: String, in directory: URL? = nil,
      transport: any Transport = URLSessionTransport(), reachability: any Reachability = SystemReachability(),
      scope: Scope = .shared, configuration: ReactorConfiguration = .init()
    ) throws { self.init(baseURL: baseURL) }

    /// A layer over a backend whose records are in SQLite. It is there with the trait `SQLite` alone.
    @available(
      *, unavailable,
      message:
        "add traits: [\"SQLite\"] to the package dependency on Reactor, so that GRDB is resolved and this is built"
    )
    public convenience init(
      backend: Backend, sqlite name: String, in directory: URL? = nil, scope: Scope = .shared,
      configuration: ReactorConfiguration = .init()
    ) throws { self.init(backend: backend) }
  }

  /// Records in an SQLite database. It is there with the trait `SQLite` alone.
  @available(
    *, unavailable,
    message: "add traits: [\"SQLite\"] to the package dependency on Reactor, so that GRDB is resolved and this is built"
  )
  public final class SQLitePersistence: Persistence {
    public enum Synchronization: Sendable, Hashable { case normal, full }

    public init(
      path: String, limit: Int = 0, countLimit: Int = 0, synchronization: Synchronization = .normal
    ) throws {}

    public func load(_ key: RecordKey) async throws -> Record? { nil }
    public func save(_ record: Record, for key: RecordKey) async throws {}
    public func remove(_ key: RecordKey) async throws {}
    public func removeAll(in scope: Scope?) async throws {}
    public func entries(in scope: Scope?, url: String?) async throws -> [RecordEntry] { [] }
    public func verify() async throws -> [RecordDefect] { [] }
    public static func verify(path: String) async throws -> [RecordDefect] { [] }
    public func compact() async throws {}
  }

  /// Why the database refused. It is there with the trait `SQLite` alone.
  @available(
    *, unavailable,
    message: "add traits: [\"SQLite\"] to the package dependency on Reactor, so that GRDB is resolved and this is built"
  )
  public enum SQLitePersistenceError: Error {}
#endif
