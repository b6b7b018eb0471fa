import Foundation
import HTTPTypes
import ReactorOutbox

/// The line of an entry in `reactor outbox list`.
struct OutboxLine: Encodable {
  let id: String
  let state: String
  /// The reason why the entry is not being sent; `null` if it is being sent or finished.
  let reason: String?
  let lane: String
  /// The method and the URL; `null` if the program that made the entry has not made its request.
  let method: String?
  let url: String?
  let attempts: Int
  let submittedAt: Date
  let status: Int?

  private enum CodingKeys: CodingKey {
    case id, state, reason, lane, method, url, attempts, submittedAt, status
  }

  init(_ entry: Outbox.Entry) {
    id = entry.id.uuidString
    state = entry.state.name
    reason = entry.state.reason?.name
    lane = entry.lane.rawValue
    method = entry.method?.rawValue
    url = entry.url
    attempts = entry.attempts
    submittedAt = entry.submittedAt
    status = entry.status
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encode(state, forKey: .state)
    // `encode` writes the member even if it is `null`.
    try container.encode(reason, forKey: .reason)
    try container.encode(lane, forKey: .lane)
    try container.encode(method, forKey: .method)
    try container.encode(url, forKey: .url)
    try container.encode(attempts, forKey: .attempts)
    try container.encode(submittedAt, forKey: .submittedAt)
    try container.encode(status, forKey: .status)
  }

  /// Returns the lines as a table.
  static func table(_ lines: [OutboxLine]) -> String {
    TextTable.text(
      head: ["ID", "STATE", "REASON", "LANE", "ATTEMPTS", "STATUS", "SUBMITTED AT", "METHOD", "URL"],
      lines.map { line in
        [
          line.id, line.state, line.reason ?? "-", line.lane, "\(line.attempts)", line.status.map(String.init) ?? "-",
          line.submittedAt.formatted(.iso8601), line.method ?? "-", line.url ?? "-",
        ]
      })
  }
}

extension Outbox.Entry.State {
  /// The name in `reactor outbox list`.
  var name: String {
    switch self {
    case .waiting: "waiting"
    case .sending: "sending"
    case .unknown: "unknown"
    case .conflicted: "conflicted"
    case .refused: "refused"
    case .unresolved: "unresolved"
    case .unreadable: "unreadable"
    @unknown default: "unreadable"
    }
  }

  var reason: Outbox.Entry.Reason? {
    switch self {
    case .waiting(let reason), .unknown(let reason): reason
    default: nil
    }
  }

  /// The name and the reason, for a message.
  var text: String { reason.map { "\(name) (\($0.name))" } ?? name }
}

extension Outbox.Entry.Reason {
  /// The name in `reactor outbox list`.
  var name: String {
    switch self {
    case .turn, .stopped: "turn"
    case .connectivity: "connectivity"
    case .backoff: "backoff"
    case .paused: "paused"
    case .signIn: "signIn"
    case .identity: "identity"
    @unknown default: "turn"
    }
  }
}
