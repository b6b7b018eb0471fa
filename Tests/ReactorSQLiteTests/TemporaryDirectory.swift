#if SQLite
  import Foundation
  import HTTPTypes
  import ReactorCore

  /// Calls `body` with the URL of a directory that does not exist yet, and removes it afterwards.
  func withTemporaryDirectory<Value>(_ body: (URL) async throws -> Value) async rethrows -> Value {
    let url = FileManager.default.temporaryDirectory.appending(path: "reactor-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }
    return try await body(url)
  }

  func permissions(_ url: URL) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: url.path())[.posixPermissions] as? Int
  }

  extension RecordKey {
    static func sample(_ path: String = "articles", scope: Scope = .shared) -> RecordKey {
      RecordKey(method: .get, url: "https://api.example.com/\(path)", scope: scope)
    }
  }

  extension Record {
    static func sample(_ key: RecordKey, _ body: String = "[1]") -> Record {
      Record(
        head: Head(
          identity: key.identity, status: .ok, fields: [.contentType: "application/json"],
          requestedAt: Date(timeIntervalSinceReferenceDate: 1), receivedAt: Date(timeIntervalSinceReferenceDate: 2)),
        body: Data(body.utf8))
    }
  }
#endif
