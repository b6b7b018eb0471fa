import Foundation
import ReactorCore

/// The line of a record in `reactor store list`.
struct RecordLine: Encodable {
  let key: String
  let url: String
  let size: Int
  let fetchedAt: Date
  /// The end of the freshness; `null` if the response does not declare any.
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
    // `encode` writes the member even if it is `null`.
    try container.encode(freshUntil, forKey: .freshUntil)
  }

  /// Returns the lines as a table. The URL is the last column, so that a long one shifts no other.
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

/// JSON as the command prints it: sorted members, and dates of RFC 3339.
enum JSONOutput {
  static func bytes(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return try encoder.encode(value) + Data("\n".utf8)
  }
}
