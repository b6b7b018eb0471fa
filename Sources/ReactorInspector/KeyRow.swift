import Foundation
import ReactorCore

/// One key as the list shows it: what the reactors of its models know, in one line.
struct KeyRow: Sendable, Hashable, Encodable {
  let id: String
  let layer: Int
  /// Redacted: the method and the URL.
  let key: String
  let model: String
  let state: String
  var origin: String?
  /// Milliseconds since the copy's age began.
  var age: Double?
  /// Milliseconds for which the copy is fresh in all; `nil`: without end.
  var lifetime: Double?
  var bytes = 0
  var observers = 0
  var waiters = 0
  var phase: String?
  /// A Boolean value that indicates whether the latest attempt failed.
  var hasFailed = false
  /// Milliseconds since 1970 of the latest event.
  var seen: Double?

  /// - Parameters:
  ///   - statuses: one of each model; none where nothing is in memory.
  ///   - last: the latest event.
  init(_ subject: Subject, _ statuses: [KeyStatus], last: TimelineEvent?) {
    id = subject.id
    layer = subject.layer
    key = subject.key.description
    seen = last.map { $0.at.rounded(toTenths: ()) }
    // Of several models, the one whose copy is the newest speaks for the key.
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
    case .local: "local"
    }
  }
}
