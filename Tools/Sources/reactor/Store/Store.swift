import Foundation
import ReactorCore
import ReactorSQLite

/// The persistence at a path that was given, of either kind.
enum Store {
  case files(FilePersistence)
  case database(SQLitePersistence)

  /// - Throws: `SQLitePersistenceError`.
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

  /// What of the store at a path cannot be read. A damaged database is left as it is: opening it would set it aside.
  static func verify(_ argument: StoreArgument) async throws -> [RecordDefect] {
    switch argument.kind {
    case .directory: try await FilePersistence(directory: argument.directory).verify()
    case .database: try await SQLitePersistence.verify(path: argument.path)
    }
  }

  /// Gives what is not needed back to the disk. Files take no more than they need.
  func compact() async throws {
    if case .database(let database) = self { try await database.compact() }
  }
}
