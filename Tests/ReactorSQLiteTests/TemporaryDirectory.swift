#if SQLite
  import Foundation
  import HTTPTypes
  import ReactorCore
  import Synchronization

  /// Calls `body` with the URL of a directory that does not exist yet, and removes it afterwards.
  func withTemporaryDirectory<Value>(_ body: (URL) async throws -> Value) async rethrows -> Value {
    let url = FileManager.default.temporaryDirectory.appending(path: "reactor-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }
    return try await body(url)
  }

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

  extension RecordKey {
    static func sample(_ path: String = "articles", scope: Scope = .shared) -> RecordKey {
      RecordKey(method: .get, url: "https://api.example.com/\(path)", scope: scope)
    }
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

    static func sample(_ key: RecordKey, _ body: String = "[1]") -> Record {
      Record(
        head: Head(
          identity: key.identity, status: .ok, fields: [.contentType: "application/json"],
          requestedAt: Date(timeIntervalSinceReferenceDate: 1), receivedAt: Date(timeIntervalSinceReferenceDate: 2)),
        body: Data(body.utf8))
    }
  }
#endif
