package import Foundation

/// What one reactor knows of one key at a moment: for an inspector. It holds no model.
package struct KeyStatus: Sendable {
  package enum Condition: String, Sendable, CaseIterable {
    case fresh, stale, invalidated
    /// There is no copy in memory.
    case absent
    /// There is no copy in memory, and the latest attempt failed.
    case failed
  }

  package let key: RecordKey
  /// The name of the model's type.
  package let model: String
  package let condition: Condition
  package let origin: Origin?
  package let fetchedAt: Date?
  /// Seconds that count against ``lifetime`` (RFC 9111 §4.2.3).
  package let age: Double?
  /// Seconds for which the copy is fresh in all.
  package let lifetime: Double?
  /// Of payload.
  package let bytes: Int
  /// Open streams.
  package let observers: Int
  /// Callers that wait for the flight.
  package let waiters: Int
  /// What the flight does; `nil` where none is under way.
  package let phase: FlightPhase?
  /// Of the latest attempt.
  package let error: ReactorError?
}

/// What a flight does now.
package enum FlightPhase: String, Sendable {
  /// It asks persistence, or what came of that is being settled.
  case loading
  /// It asks the network, parses and saves.
  case requesting
  /// It waits for connectivity.
  case paused
}
