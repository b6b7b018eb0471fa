import Foundation
import ReactorCore
import ReactorWrites

/// The entries that the layer expects to be sent soon. Requests that only streams wait for are sent
/// after the last of them.
struct LaneTurns: Sendable {
  private let gate: SendingGate?
  private var keys: [UUID: Set<RecordKey>] = [:]
  private var freed: Set<RecordKey> = []

  init(_ gate: SendingGate?) { self.gate = gate }

  var ids: [UUID] { Array(keys.keys) }

  /// Records the keys that an entry is about to change; none if its turn does not come now.
  mutating func note(_ id: UUID, _ new: Set<RecordKey>) {
    guard let gate, keys[id] ?? [] != new else { return }
    keys[id] = new.isEmpty ? nil : new
    freed.formUnion(gate.expect(id, new))
  }

  /// Takes out the keys for which no entry is due any more.
  mutating func takeFreed() -> Set<RecordKey> {
    guard !freed.isEmpty else { return [] }
    defer { freed = [] }
    return freed
  }
}
