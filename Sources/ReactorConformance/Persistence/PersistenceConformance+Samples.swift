import Foundation
import HTTPTypes
import ReactorCore

extension PersistenceConformance {
  /// Sample keys and records.
  enum Samples {
    static func key(_ path: String = "articles", scope: Scope = .shared) -> RecordKey {
      RecordKey(method: .get, url: "https://api.example.com/v1/\(path)", scope: scope)
    }

    /// URLs as clients write them, which `URL` may reject or change. All are different keys.
    static let urls = [
      "https://api.example.com/a", "https://api.example.com/a/", "https://api.example.com/a?b",
      "https://api.example.com/A",
      "https://api.example.com/a|b", "https://api.example.com/a%7Cb", "https://api.example.com/a[b]",
      "https://api.example.com/%zz", "https://api.example.com/a\"b ^`{}\\", "https://api.example.com/\u{FC}",
    ]

    static func record(for key: RecordKey, body: Data = Data("[1, 2]".utf8), variant: Record.Variant? = nil) -> Record {
      Record(
        head: Record.Head(
          identity: key.identity, status: .ok, fields: [.contentType: "application/json", .eTag: "\"a1\""],
          requestedAt: Date(timeIntervalSinceReferenceDate: 800_000_000.125),
          receivedAt: Date(timeIntervalSinceReferenceDate: 800_000_000.1 + 0.2), variant: variant),
        body: body)
    }

    /// Returns bytes that reveal their position and the seed.
    static func bytes(_ count: Int, seed: UInt8) -> Data {
      let tile = Data((0..<251).map { UInt8($0) ^ seed })
      var bytes = Data(capacity: count + tile.count)
      while bytes.count < count { bytes.append(tile) }
      return bytes.prefix(count)
    }

    /// Returns all parts of a record, byte for byte. The `==` of fields ignores their order, and
    /// the `==` of strings their Unicode spelling.
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
