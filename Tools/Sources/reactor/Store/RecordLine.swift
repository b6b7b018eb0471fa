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

  init(_ entry: Record.Entry) {
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

  /// Returns the lines as a table.
  static func table(_ lines: [RecordLine]) -> String {
    TextTable.text(
      head: ["KEY", "SIZE", "FETCHED AT", "FRESH UNTIL", "URL"],
      lines.map { line in
        [
          String(line.key.prefix(12)), "\(line.size)", line.fetchedAt.formatted(.iso8601),
          line.freshUntil?.formatted(.iso8601) ?? "-", line.url,
        ]
      })
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
