import Foundation
import ReactorCore
import ReactorSQLite

/// The persistence at a given path, of either kind.
enum Store {
  case files(FilePersistence)
  case database(SQLitePersistence)

  /// Opens the store.
  ///
  /// - Throws: `SQLitePersistenceError`, if the database cannot be opened.
  init(_ argument: StoreArgument) throws {
    switch argument.kind {
    case .directory: self = .files(FilePersistence(directory: argument.directory))
    case .database: self = .database(try SQLitePersistence(path: argument.path))
    }
  }

  var persistence: any Persistence {
    switch self {
    case .files(let files): files
    case .database(let database): database
    }
  }

  /// Returns the entries of the stored responses, without the notes of the cache about other
  /// queries of their paths (`No-Vary-Search`).
  func responses() async throws -> [Record.Entry] {
    try await persistence.entries(in: nil, url: nil).filter { !$0.key.identity.hasSuffix("\n:search") }
  }

  /// Returns the records of the store at a path that cannot be read. Nothing changes: to open a
  /// damaged database would set it aside.
  static func verify(_ argument: StoreArgument) async throws -> [Record.Defect] {
    switch argument.kind {
    case .directory: try await FilePersistence(directory: argument.directory).verify()
    case .database: try await SQLitePersistence.verify(path: argument.path)
    }
  }

  /// Returns unused space to the file system. Stores of files have none.
  func compact() async throws {
    if case .database(let database) = self { try await database.compact() }
  }
}
