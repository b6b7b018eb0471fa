#if SQLite
  import Foundation
  import HTTPTypes
  import ReactorCore
  import Synchronization
  import TestSupport

  func permissions(_ url: URL) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: url.path())[.posixPermissions] as? Int
  }

  /// Calls `body` with the path of a database in such a directory.
  func withDatabase<Value>(_ body: (String) async throws -> Value) async rethrows -> Value {
    try await withTemporaryDirectory { try await body($0.appending(path: "records.sqlite").path()) }
  }

  /// The files beside it, itself among them.
  func neighbours(_ path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: (path as NSString).deletingLastPathComponent).sorted()
  }

  /// A time that moves when the test moves it.
  final class Time: Sendable {
    private let seconds = Mutex(800_000_000.5)

    var now: Date { Date(timeIntervalSinceReferenceDate: seconds.withLock { $0 }) }

    func advance(_ by: Double) { seconds.withLock { $0 += by } }
  }

  extension Record {
    /// A body of 1,000 bytes, fresh for `maxAge` seconds from `date` on.
    static func sample(_ key: RecordKey, at date: Date, maxAge: Int = 0, count: Int = 1_000) -> Record {
      Record(
        head: Head(
          identity: key.identity, status: .ok, fields: [.cacheControl: "private, max-age=\(maxAge), immutable"],
          requestedAt: date, receivedAt: date),
        body: Data(repeating: 0x5A, count: count))
    }
  }
#endif
