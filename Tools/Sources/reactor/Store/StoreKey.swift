import ArgumentParser
import ReactorCore

/// The record argument and the store option of a subcommand.
struct StoredRecordOptions: ParsableArguments {
  @Argument(help: "The record's key, or its beginning.")
  var key: String

  @OptionGroup var options: StoreOptions

  /// Opens the store, finds the record, runs `body`, and exits with the code that it returns.
  func run(_ body: (Store, RecordKey) async throws -> Int32) async throws -> Never {
    try await options.run { store in
      let found = try await StoreKey.find(key, in: store)
      return try await body(found.store, found.key)
    }
  }
}

/// Finds a record by its key, or by a unique prefix of the key.
enum StoreKey {
  /// Finds the record.
  ///
  /// - Throws: ``ExitStatus``, if no key or more than one key has the prefix.
  fileprivate static func find(_ prefix: String, in store: Store?) async throws -> (store: Store, key: RecordKey) {
    let entries = try await store?.responses() ?? []
    let found = entries.map(\.key).filter { !prefix.isEmpty && $0.digest.hasPrefix(prefix.lowercased()) }
    guard let store, let key = found.first else {
      throw ExitStatus(
        code: ExitStatus.notCached, text: "no record's key begins with '\(prefix)'; list them with: reactor store list")
    }
    guard found.count == 1 else {
      throw ExitStatus(
        code: ExitStatus.usage, text: "\(found.count) records have keys that begin with '\(prefix)'; give more digits")
    }
    return (store, key)
  }
}
