import Foundation
import ReactorCore

/// What `reactor store list` says of a record.
struct RecordLine: Encodable {
  let key: String
  let url: String
  let size: Int
  let fetchedAt: Date
  /// `null` where the response says nothing.
  let freshUntil: Date?

  private enum CodingKeys: CodingKey {
    case key, url, size, fetchedAt, freshUntil
  }

  init(_ entry: RecordEntry) {
    key = entry.key.digest
    url = entry.key.url
    size = entry.size
    fetchedAt = entry.fetchedAt
    freshUntil = entry.freshUntil
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(key, forKey: .key)
    try container.encode(url, forKey: .url)
    try container.encode(size, forKey: .size)
    try container.encode(fetchedAt, forKey: .fetchedAt)
    // A member that is always there.
    try container.encode(freshUntil, forKey: .freshUntil)
  }

  /// The lines as a table: what is of one width first, so that a long URL moves nothing.
  static func table(_ lines: [RecordLine]) -> String {
    let head = ["KEY", "SIZE", "FETCHED AT", "FRESH UNTIL", "URL"]
    let rows = lines.map { line in
      [
        String(line.key.prefix(12)), "\(line.size)", line.fetchedAt.formatted(.iso8601),
        line.freshUntil?.formatted(.iso8601) ?? "-", TraceLine.oneLine(line.url),
      ]
    }
    let widths = head.indices.dropLast().map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
    return ([head] + rows).map { row in
      zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }.joined(separator: "  ") + "  "
        + (row.last ?? "")
    }.joined(separator: "\n")
  }
}

/// Values as the command prints them: members in the alphabet's order, times as RFC 3339 has them.
enum JSONOutput {
  static func bytes(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return try encoder.encode(value) + Data("\n".utf8)
  }
}
