import Foundation
import HTTPTypes
public import ReactorCore
import ReactorTesting

/// A record whose every byte follows from its key and its version: what is read can be judged.
public struct WrittenRecord: Sendable, Hashable {
  public static let keyCount = 40
  public var number: Int
  public var version: Int

  public init(number: Int, version: Int) {
    self.number = number
    self.version = version
  }

  /// Reads a stored record's number and version; `nil` unless each byte is as it was saved.
  public init?(_ record: Record, number: Int) {
    let words = record.head.fields[.eTag]?.split(separator: " ") ?? []
    guard words.count == 2, Int(words[0]) == number, let version = Int(words[1]) else { return nil }
    self.init(number: number, version: version)
    guard record == self.record else { return nil }
  }

  /// Every eighth is another scope's.
  public var key: RecordKey {
    RecordKey(
      method: .get, url: "https://api.example.com/items/\(number)", scope: number.isMultiple(of: 8) ? "user" : .shared)
  }

  /// Every fifth is local.
  public var record: Record {
    Record(
      head: Record.Head(
        identity: key.identity, status: .ok, fields: [.eTag: "\(number) \(version)"],
        requestedAt: Date(timeIntervalSinceReferenceDate: Double(version)),
        receivedAt: Date(timeIntervalSinceReferenceDate: Double(version) + 0.5),
        localModel: version.isMultiple(of: 5) ? "Item" : nil),
      body: body)
  }

  /// 100 bytes to 40,000; half of all are below 500.
  private var body: Data {
    var generator = SeededGenerator(seed: UInt64(truncatingIfNeeded: version << 8 | number))
    let size = Int(100 * pow(400, pow(Double.random(in: 0...1, using: &generator), 2)))
    let tile = "\(number) \(version);"
    return Data(String(repeating: tile, count: size / tile.utf8.count + 1).utf8.prefix(size))
  }
}

/// A store that ``KilledWriter`` can have written.
public enum WriterEngine: String, Sendable {
  case files
  case filesFull = "files-full"
  case sqlite
  case sqliteFull = "sqlite-full"
}
