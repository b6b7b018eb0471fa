import Foundation
import ReactorOutbox

extension OutboxStorageConformance {
  /// Sample entries, processes and times.
  enum Samples {
    static let now = Date(timeIntervalSinceReferenceDate: 800_000_000.125)
    static let (one, two) = (UUID(), UUID())

    static func entry(_ text: String = "entry", lane: String = "main", id: UUID = UUID()) -> StoredEntry {
      StoredEntry(id: id, lane: lane, bytes: Data(text.utf8))
    }

    static func entries(_ count: Int) -> [StoredEntry] { (0..<count).map { entry("\($0)") } }

    /// Returns an entry with the same id.
    static func changed(_ entry: StoredEntry, _ text: String, lane: String = "main") -> StoredEntry {
      Self.entry(text, lane: lane, id: entry.id)
    }

    /// Returns everything but the number, byte for byte. The `==` of strings ignores their
    /// spelling.
    static func spelling(_ entry: StoredEntry) -> [Data] {
      [withUnsafeBytes(of: entry.id.uuid) { Data($0) }, Data(entry.lane.utf8), Data(entry.bytes)]
    }

    static func name(_ entry: StoredEntry) -> String {
      "\(entry.lane): \(String(decoding: entry.bytes.prefix(20), as: UTF8.self)) (\(entry.bytes.count) bytes)"
    }
  }
}
