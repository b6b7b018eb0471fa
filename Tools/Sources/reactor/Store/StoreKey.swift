import Foundation
import ReactorCore

/// Finds a record by its key, or by as much of the key's beginning as no other has.
enum StoreKey {
  /// - Throws: ``ExitStatus`` where none, or more than one, begins so.
  static func find(_ prefix: String, in store: Store?) async throws -> RecordKey {
    let entries = try await store?.persistence.entries(in: nil, url: nil) ?? []
    let found = entries.map(\.key).filter { !prefix.isEmpty && $0.digest.hasPrefix(prefix.lowercased()) }
    guard let key = found.first else {
      throw ExitStatus(code: ExitStatus.notCached, text: "no record has a key that begins with '\(prefix)'")
    }
    guard found.count == 1 else {
      throw ExitStatus(
        code: ExitStatus.usage, text: "\(found.count) records have a key that begins with '\(prefix)'; give more of it")
    }
    return key
  }
}
