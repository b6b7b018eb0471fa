public import Foundation
public import HTTPCaching
import HTTPTypes

/// Calls `body` with the URL of a directory that does not exist yet, and removes it afterwards.
public func withTemporaryDirectory<Value>(_ body: (URL) async throws -> Value) async rethrows -> Value {
  let url = FileManager.default.temporaryDirectory.appending(path: "reactor-\(UUID().uuidString)")
  defer { try? FileManager.default.removeItem(at: url) }
  return try await body(url)
}

/// Returns the files of a directory, at any depth.
public func files(in directory: URL, suffix: String = "") -> [URL] {
  let names = FileManager.default.enumerator(atPath: directory.path(percentEncoded: false))
  return (names?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(suffix) }.sorted()
    .map { directory.appending(path: $0) }
}

/// The last part of the path.
public func name(of url: URL) -> String { url.lastPathComponent }

public func attribute(_ key: FileAttributeKey, of url: URL) throws -> Any? {
  try FileManager.default.attributesOfItem(atPath: url.path(percentEncoded: false))[key]
}

public func setUsed(_ date: Date, _ url: URL) throws {
  try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: url.path(percentEncoded: false))
}

extension RecordKey {
  public static func sample(_ path: String = "articles", scope: Scope = .shared) -> RecordKey {
    RecordKey(method: .get, url: "https://api.example.com/\(path)", scope: scope)
  }
}

extension Record {
  public static func sample(_ key: RecordKey, _ body: String = "[1]") -> Record {
    Record(
      head: Head(
        identity: key.identity, status: .ok, fields: [.contentType: "application/json"],
        requestedAt: Date(timeIntervalSinceReferenceDate: 1), receivedAt: Date(timeIntervalSinceReferenceDate: 2)),
      body: Data(body.utf8))
  }
}
