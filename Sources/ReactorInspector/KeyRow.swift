import Foundation
import ReactorCore

/// A row of the list: the state of one key, combined over all its models.
struct KeyRow: Sendable, Hashable, Encodable {
  let id: String
  let layer: Int
  /// The method and the URL, redacted.
  let key: String
  let model: String
  let state: String
  var origin: String?
  /// The age of the cached value in milliseconds.
  var age: Double?
  /// The freshness lifetime in milliseconds; `nil` if the value never becomes stale.
  var lifetime: Double?
  var bytes = 0
  var observers = 0
  var waiters = 0
  var phase: String?
  /// A Boolean value that indicates whether the latest attempt failed.
  var hasFailed = false
  /// The time of the latest event, in milliseconds since 1970.
  var seen: Double?

  /// - Parameters:
  ///   - statuses: One status of each model; empty if nothing is in memory.
  ///   - last: The key's latest event.
  init(_ subject: Subject, _ statuses: [KeyStatus], last: TimelineEvent?) {
    id = subject.id
    layer = subject.layer
    key = subject.key.description
    seen = last.map { $0.at.rounded(toTenths: ()) }
    // Of several models, the one with the newest value determines the row.
    let best = statuses.max { ($0.fetchedAt ?? .distantPast) < ($1.fetchedAt ?? .distantPast) }
    model =
      statuses.isEmpty ? last?.model ?? "" : Set(statuses.map(\.model)).sorted().joined(separator: ", ")
    state = (best?.condition ?? (last?.name == .failed ? .failed : .absent)).rawValue
    origin = best?.origin?.name
    age = best?.age.map { ($0 * 1e3).rounded(toTenths: ()) }
    lifetime = best?.lifetime.flatMap { $0 < Self.endless ? ($0 * 1e3).rounded(toTenths: ()) : nil }
    bytes = statuses.map(\.bytes).max() ?? 0
    observers = statuses.map(\.observers).reduce(0, +)
    waiters = statuses.map(\.waiters).reduce(0, +)
    phase = statuses.compactMap(\.phase?.rawValue).first
    hasFailed = statuses.contains { $0.error != nil } || state == KeyStatus.Condition.failed.rawValue
  }

  /// A hundred years, in seconds.
  private static let endless = 3.2e9
}

extension Origin {
  var name: String {
    switch self {
    case .memory: "memory"
    case .persistence: "persistence"
    case .network: "network"
    case .fleet: "fleet"
    case .local: "local"
    }
  }
}
