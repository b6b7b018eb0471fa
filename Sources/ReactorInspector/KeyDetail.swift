import Foundation
import ReactorCore

/// The details of one key, beyond its row in the list.
struct KeyDetail: Sendable, Encodable {
  struct Model: Sendable, Encodable {
    let model: String
    let state: String
    let origin: String?
    /// Milliseconds since 1970.
    let fetchedAt: Double?
    let bytes: Int
    let observers: Int
    let waiters: Int
    let phase: String?
    let error: String?
    let limits: [Limit]
  }

  /// A limit of requests that the server announced (`RateLimit`).
  struct Limit: Sendable, Encodable {
    let policy: String
    let remaining: Int
    /// Milliseconds since 1970; `nil` if the server does not say when more are available.
    let until: Double?
  }

  /// Milliseconds since 1970.
  let now: Double
  let row: KeyRow
  let models: [Model]
  let runs: [Waterfall.Run]
  /// The key's latest events, oldest first.
  let events: [TimelineEvent]
  let pruned: Ledger.Pruned?

  init(_ subject: Subject, _ statuses: [KeyStatus], _ history: Ledger.History?, now: Double) {
    self.now = now
    events = history?.events.elements ?? []
    row = KeyRow(subject, statuses, last: events.last)
    models = statuses.map(Model.init)
    runs = Waterfall.runs(of: events)
    pruned = history?.pruned
  }
}

extension KeyDetail.Model {
  init(_ status: KeyStatus) {
    self.init(
      model: status.model, state: status.condition.rawValue, origin: status.origin?.name,
      fetchedAt: status.fetchedAt?.milliseconds, bytes: status.bytes, observers: status.observers,
      waiters: status.waiters, phase: status.phase?.rawValue, error: status.error.map(Reason.text),
      limits: status.limits.map { limit in
        let until = status.fetchedAt.flatMap { at in limit.resetsAfter.map { at.milliseconds + $0.milliseconds } }
        return KeyDetail.Limit(policy: limit.policy, remaining: limit.remaining, until: until)
      })
  }
}
