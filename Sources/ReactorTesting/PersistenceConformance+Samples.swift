import Foundation
import HTTPTypes
import ReactorCore

extension PersistenceConformance {
  /// Keys and records to store.
  enum Samples {
    static func key(_ path: String = "articles", scope: Scope = .shared) -> RecordKey {
      RecordKey(method: .get, url: "https://api.example.com/v1/\(path)", scope: scope)
    }

    /// As clients write them, whatever `URL` makes of them; each is another.
    static let urls = [
      "https://api.example.com/a", "https://api.example.com/a/", "https://api.example.com/a?b",
      "https://api.example.com/A",
      "https://api.example.com/a|b", "https://api.example.com/a%7Cb", "https://api.example.com/a[b]",
      "https://api.example.com/%zz", "https://api.example.com/a\"b ^`{}\\", "https://api.example.com/\u{FC}",
    ]

    static func record(for key: RecordKey, body: Data = Data("[1, 2]".utf8), variant: Variant? = nil) -> Record {
      Record(
        head: Record.Head(
          identity: key.identity, status: .ok, fields: [.contentType: "application/json", .eTag: "\"a1\""],
          requestedAt: Date(timeIntervalSinceReferenceDate: 800_000_000.125),
          receivedAt: Date(timeIntervalSinceReferenceDate: 800_000_000.1 + 0.2), variant: variant),
        body: body)
    }

    /// Bytes that say which they are at every place.
    static func bytes(_ count: Int, seed: UInt8) -> Data {
      let tile = Data((0..<251).map { UInt8($0) ^ seed })
      var bytes = Data(capacity: count + tile.count)
      while bytes.count < count { bytes.append(tile) }
      return bytes.prefix(count)
    }

    /// All that a record is, byte for byte: `==` of fields ignores the order, and `==` of strings their spelling.
    static func spelling(_ record: Record) -> [Data] {
      let head = record.head
      var parts = [record.body, Data(head.identity.utf8), Data("\(head.status.code)".utf8)]
      parts.append(Data(head.status.reasonPhrase.utf8))
      for date in [head.requestedAt, head.receivedAt, head.invalidatedAt] {
        parts.append(Data("\(date?.timeIntervalSinceReferenceDate.bitPattern, default: "none")".utf8))
      }
      parts.append(Data("\(head.localModel, default: "none")".utf8))
      parts.append(Data("\(head.variant.map { "\($0.names) \($0.digest)" }, default: "none")".utf8))
      for field in head.fields {
        parts.append(Data(field.name.rawName.utf8))
        parts.append(field.withUnsafeBytesOfValue { Data($0) })
      }
      return parts
    }
  }
}
