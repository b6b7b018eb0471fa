import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore

/// The entries as the program sees them.
extension Outbox.Entry {
  init(
    _ entry: OutboxEntry, _ items: [UUID: OutboxState.Item], _ queue: OutboxQueue,
    _ conditions: OutboxQueue.Conditions, _ secretNames: Set<String>
  ) {
    id = entry.id
    name = entry.name
    lane = Lane(rawValue: entry.lane)
    // Looked up once, in place: an item is large.
    let index = items.index(forKey: entry.id)
    mutation = index.flatMap { items.values[$0].mutation.program }
    submittedAt = entry.submittedAt
    attempts = entry.attempts
    method = entry.request.flatMap { HTTPRequest.Method($0.method) }
    url = entry.request.map { Self.redacted($0.url, secretNames) }
    status = entry.outcome?.status
    progress = index.flatMap { items.values[$0].progress }
    let reason = queue.reason(of: entry, conditions)
    state =
      switch entry.state {
      case .conflicted:
        .conflicted(
          items[entry.id]?.conflict ?? Conflict(status: entry.outcome?.status ?? 412, response: nil, body: nil))
      case .refused: .refused(items[entry.id]?.error ?? Self.error(of: entry))
      case .unresolved: .unresolved
      case .unknown: reason.map(State.unknown) ?? .sending
      case .waiting, .accepted: reason.map(State.waiting) ?? .sending
      case .sending: .sending
      }
  }

  init(_ unreadable: OutboxState.Unreadable, _ secretNames: Set<String>) {
    id = unreadable.stored.id
    name = unreadable.entry?.name ?? ""
    lane = Lane(rawValue: unreadable.stored.lane)
    mutation = nil
    submittedAt = unreadable.entry?.submittedAt ?? .distantPast
    attempts = unreadable.entry?.attempts ?? 0
    method = unreadable.entry?.request.flatMap { HTTPRequest.Method($0.method) }
    url = unreadable.entry?.request.map { Self.redacted($0.url, secretNames) }
    status = unreadable.entry?.outcome?.status
    progress = nil
    state = .unreadable(unreadable.reason)
  }

  private static func redacted(_ url: String, _ secretNames: Set<String>) -> String {
    SecretQuery.redact(text: url, isURL: true, names: secretNames.union(SecretQuery.defaultNames), with: "…")
  }

  /// Returns the error of a refusal of which only the saved part is known.
  private static func error(of entry: OutboxEntry) -> ReactorError {
    guard let outcome = entry.outcome else { return .network(MutationError.expired) }
    guard let status = outcome.status, (100...999).contains(status), !(200...299).contains(status) else {
      return .invalidResource(outcome.reason)
    }
    let refusal = outcome.refusal
    return ReactorError(
      savedStatus: status, of: entry.request?.line, contentType: refusal?.contentType, body: refusal?.body,
      size: refusal?.size)
  }
}
